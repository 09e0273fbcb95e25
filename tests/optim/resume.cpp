// Runs of the trainer that were stopped and go on, bit for bit as if they had not been.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "optim/trainer.hpp"
#include "throws.hpp"

namespace {

using xgrad::CheckpointFolder;
using xgrad::FileError;
using xgrad::State;
using xgrad::Trainer;
using xgrad::TrainerOptions;
using xgrad::TrainerReport;

/// A run with all that has to be remembered: dropout, Adam's buffers, a schedule, a moving average, noise of the
/// loss's own, a plateau, early stopping.
struct Experiment {
  explicit Experiment(const std::string& folder, std::size_t epochs = 8) {
    options = quiet(epochs, 6, folder);
    options.seed = ~std::uint64_t{0};  // has more bits than a double
    options.checkpoint_every = 3;      // of 9 steps in an epoch
    options.patience = 5;
    options.lr = [this](std::uint64_t step) { return plateau_lr * xgrad::schedule::linear(step, 1, 200); };
    options.after_step = [this] { ema.update(); };
    options.after_evaluation = [this](const xgrad::Metrics& m) { plateau_lr = plateau(plateau_lr, m.validation_loss); };
  }

  TrainerReport operator()() {
    return (*this)([](Trainer<float>&) {});
  }

  /// The same with more to be set on the trainer.
  template <class F>
  TrainerReport operator()(F set) {
    Trainer<float> trainer(model, adam, options);
    trainer.remember("ema", ema);
    trainer.remember("plateau", plateau);
    trainer.remember("noise", noise);
    trainer.remember(
        "plateau_lr",
        [this] {
          return State<float>{{}, {}, {{"lr", plateau_lr}}};
        },
        [this](const State<float>& s) { plateau_lr = s.number("lr"); });
    set(trainer);
    const auto loss = [this](const auto& x, const auto& y) {
      if (xgrad::is_recording()) return xgrad::mse_loss(model(x + noise.normal<float>(x.shape(), 0, 0.1f)), y);
      return xgrad::mse_loss(model(x), y);
    };
    return trainer.fit({data.x, data.y, loss}, {valid.x, valid.y, loss});
  }

  /// All that a user could look at afterwards.
  State<float> outcome() {
    State<float> all;
    all.append("model.", xgrad::state(model));
    all.append("adam.", adam.state());
    all.append("ema.", ema.state());
    all.append("plateau.", plateau.state<float>());
    all.generators.emplace_back("noise", noise.state());
    all.numbers.emplace_back("plateau_lr", plateau_lr);
    return all;
  }

  const Rows<float> data{50, 1}, valid{20, 2};
  xgrad::Rng rng{3}, noise{4};
  Net<float> model{rng};
  xgrad::Adam<float> adam{model.parameters()};
  xgrad::Ema<float> ema{model, 0.9};
  xgrad::ReduceOnPlateau plateau{{0.5, 1}};
  double plateau_lr = 0.02;
  TrainerOptions options;
};

bool same_outcome(const State<float>& a, const State<float>& b) { return same_state(a, b) && a.numbers == b.numbers; }

/// Starts f in a child process, which ends with it.
template <class F>
pid_t start(F f) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 1;
  try {
    f();
    code = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in the child: %s\n", error.what());
  }
  ::_exit(code);
}

TEST(Resume, FiftyKillsAtRandomMoments) {
  constexpr int kills_wanted = 50;
  const Folder folder;
  Experiment whole(folder / "whole");
  const auto begin = std::chrono::steady_clock::now();
  whole();
  const double duration = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto expected = whole.outcome();
  const std::string metrics = bytes_of(folder / "whole/metrics.csv");
  ASSERT_GT(std::count(metrics.begin(), metrics.end(), '\n'), 5);

  std::mt19937_64 random(7);  // of the delays only
  std::uniform_real_distribution<double> moment(0, 1);
  // The longest that a child may live; then held where two kills of three come after a new checkpoint, also when the
  // machine becomes slower.
  double longest = 0.4 * duration;
  std::set<std::uint64_t> resumed_at;
  int kills = 0, runs = 0;
  while (kills < kills_wanted) {
    const std::string path = folder / std::to_string(runs++);
    std::uint64_t newest = 0;
    for (bool finished = false; !finished;) {
      const pid_t child = start([&] {
        Experiment part(path);
        part();
        xgrad::save_state(path + "/outcome", part.outcome());
      });
      ASSERT_GT(child, 0);
      if (kills < kills_wanted) {
        std::this_thread::sleep_for(std::chrono::duration<double>(longest * moment(random)));
        ::kill(child, SIGKILL);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      if (WIFSIGNALED(status)) {
        ASSERT_EQ(WTERMSIG(status), SIGKILL);
        ++kills;
        const auto steps = CheckpointFolder<float>(path).steps();
        resumed_at.insert(steps.begin(), steps.end());
        const std::uint64_t now = steps.empty() ? 0 : steps.back();
        longest *= now != newest ? 0.9 : 1.25;
        newest = now;
      } else {
        ASSERT_EQ(WEXITSTATUS(status), 0);
        finished = true;
        longest *= 0.5;
      }
    }
    // Tensors and metadata of a file are in an order of their own, so both sides come from files.
    xgrad::save_state(folder / "expected", expected);
    EXPECT_TRUE(
        same_outcome(xgrad::read_state<float>(path + "/outcome"), xgrad::read_state<float>(folder / "expected")))
        << "run " << runs;
    EXPECT_EQ(bytes_of(path + "/metrics.csv"), metrics) << "run " << runs;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      EXPECT_NE(entry.path().extension(), ".tmp") << entry.path() << " is left over";
  }
  EXPECT_EQ(kills, kills_wanted);
  EXPECT_GE(resumed_at.size(), 10u) << "the kills came all at the same few moments";
  std::printf("%d kills in %d runs of %.2f s\n", kills, runs, duration);
}

TEST(Resume, FromEveryCheckpoint) {
  // A run that keeps all its checkpoints: each continues to the same end.
  const Folder folder;
  Experiment whole(folder / "whole");
  whole.options.keep = 1000;
  whole.options.checkpoint_every = 7;  // within epochs of 9 steps, at their ends, after them
  const auto report = whole();
  const CheckpointFolder<float> all(folder / "whole");
  const auto steps = all.steps();
  ASSERT_EQ(steps.size(), report.steps / 7 + 1);
  for (const std::uint64_t step : steps) {
    std::filesystem::create_directory(folder / "part");
    for (const std::uint64_t earlier : steps)
      if (earlier <= step)
        std::filesystem::copy_file(all.file(earlier), CheckpointFolder<float>(folder / "part").file(earlier));
    std::filesystem::copy_file(folder / "whole/metrics.csv", folder / "part/metrics.csv");
    Experiment part(folder / "part");
    part.options.checkpoint_every = 50;
    const auto resumed = part();
    EXPECT_TRUE(same_outcome(part.outcome(), whole.outcome())) << "from step " << step;
    EXPECT_EQ(resumed.best_step, report.best_step);
    EXPECT_EQ(resumed.best_loss, report.best_loss);
    EXPECT_EQ(resumed.stopped_early, report.stopped_early);
    EXPECT_EQ(resumed.history.size(), report.history.size());
    EXPECT_EQ(bytes_of(folder / "part/metrics.csv"), bytes_of(folder / "whole/metrics.csv")) << "from step " << step;
    std::filesystem::remove_all(folder / "part");
  }
}

TEST(Resume, MoreEpochsContinueARunThatHadEnded) {
  const Folder folder;
  Experiment whole(folder / "whole", 6), first(folder / "part", 3), second(folder / "part", 6),
      third(folder / "part", 6);
  whole();
  first();
  EXPECT_FALSE(same_outcome(first.outcome(), whole.outcome()));
  second();
  EXPECT_TRUE(same_outcome(second.outcome(), whole.outcome()));
  const std::string bytes = bytes_of(folder / "part/metrics.csv");
  const auto report = third();  // nothing is left to do
  EXPECT_TRUE(same_outcome(third.outcome(), whole.outcome()));
  EXPECT_EQ(bytes_of(folder / "part/metrics.csv"), bytes);
  EXPECT_EQ(bytes_of(folder / "whole/metrics.csv"), bytes);
  EXPECT_EQ(report.history.size(), 6u);
}

TEST(Resume, PatienceCountsOn) {
  const Folder folder;
  const auto run = [&](std::size_t epochs) {
    xgrad::Rng rng(1);
    xgrad::Linear<float> model(1, 1, rng);
    xgrad::SGD<float> sgd(model.parameters());
    auto options = quiet(epochs, 1, folder.str());
    options.patience = 3;
    const xgrad::Objective<float> train(1, [&](const xgrad::Index&) { return xgrad::sum(model.weight); });
    const xgrad::Objective<float> worse(1, [&](const xgrad::Index&) { return -xgrad::sum(model.weight); });
    return Trainer<float>(model, sgd, options).fit(train, worse);
  };
  EXPECT_FALSE(run(3).stopped_early);  // the first was best, two were worse
  const auto report = run(10);
  EXPECT_TRUE(report.stopped_early);
  EXPECT_EQ(report.steps, 4u);
  EXPECT_EQ(report.best_step, 1u);
}

TEST(Resume, DamagedNewestGivesWayToTheOneBefore) {
  const Folder folder;
  Experiment whole(folder / "whole");
  whole();
  Experiment first(folder / "part", 3);
  first();
  const CheckpointFolder<float> checkpoints(folder / "part");
  const auto steps = checkpoints.steps();
  ASSERT_EQ(steps.size(), 3u);
  const std::string newest = checkpoints.file(steps[2]), bytes = bytes_of(newest);
  put_bytes(newest, bytes.substr(0, bytes.size() - 1));
  Experiment second(folder / "part");
  second.options.log = std::tmpfile();
  second();
  EXPECT_TRUE(same_outcome(second.outcome(), whole.outcome()));
  std::rewind(second.options.log);
  char line[1000] = "";
  ASSERT_NE(std::fgets(line, sizeof line, second.options.log), nullptr);
  EXPECT_EQ(std::string(line).rfind("damaged checkpoint passed over: [read_state] " + newest, 0), 0u) << line;
  ASSERT_NE(std::fgets(line, sizeof line, second.options.log), nullptr);
  EXPECT_EQ(line, "resumed from " + checkpoints.file(steps[1]) + " at step 24 of 72\n");
  std::fclose(second.options.log);

  for (const std::uint64_t step : checkpoints.steps()) put_bytes(checkpoints.file(step), "damaged");
  Experiment third(folder / "part");
  EXPECT_THROWS(FileError, third(), "no checkpoint in " + folder / "part");
}

TEST(Resume, WhatDoesNotFitIsRefusedAndNothingChanges) {
  const Folder folder;
  Experiment first(folder.str(), 1);
  first();
  const auto refused = [&](auto change, const std::string& part) {
    Experiment other(folder.str(), 2);
    change(other);
    const auto before = other.outcome();
    EXPECT_THROWS(std::invalid_argument, other(), part);
    EXPECT_TRUE(same_outcome(other.outcome(), before)) << part;
  };
  refused([](auto& e) { e.options.batch_size = 5; },
          "with all that is remembered; use those, or another folder:\n  batch_size differs");
  refused([](auto& e) { e.options.seed = 1; }, "\n  seed differs");
  refused([](auto& e) { e.options.drop_last = true; }, "\n  drop_last differs");
  refused([](auto& e) { e.options.resume = false; }, "holds checkpoints of an earlier run; resume it, remove them");

  // Another optimizer, other data, something more to remember.
  xgrad::Rng rng(3);
  Net<float> model(rng);
  xgrad::SGD<float> sgd(model.parameters());
  auto options = first.options;
  const auto before = xgrad::state(model);
  const Rows<float> more(51, 1);
  const auto loss = [&](const auto& x, const auto& y) { return xgrad::mse_loss(model(x), y); };
  EXPECT_THROWS(std::invalid_argument,
                Trainer<float>(model, sgd, options).fit({first.data.x, first.data.y, loss}, {more.x, more.y, loss}),
                "[SGD] the state must be of the same optimizer");
  EXPECT_THROWS(std::invalid_argument,
                Trainer<float>(model, sgd, options).fit({more.x, more.y, loss}, {more.x, more.y, loss}),
                "\n  rows differs");
  xgrad::Linear<float> line(2, 1, rng);
  EXPECT_THROWS(std::invalid_argument,
                Trainer<float>(line, sgd, options).fit({first.data.x, first.data.y, loss}, {more.x, more.y, loss}),
                "\n  missing: weight\n  unknown: embed.bias");
  xgrad::Adam<float> adam(model.parameters());
  Trainer<float> trainer(model, adam, options);
  trainer.remember("new", rng);
  EXPECT_THROWS(std::invalid_argument, trainer.fit({first.data.x, first.data.y, loss}, {more.x, more.y, loss}),
                "or another folder:\n  missing: remembered.new");
  EXPECT_TRUE(same_state(xgrad::state(model), before));
}

TEST(Resume, WhatWasRememberedIsCheckedBeforeAnythingChanges) {
  const Folder folder;
  Experiment first(folder.str(), 1);
  first();
  xgrad::Rng late(9);
  xgrad::Ema<float> mean(first.model, 0.5);
  const auto missing = [&](auto remember, const std::string& part) {
    Experiment other(folder.str(), 2);
    other.adam.set_lr(0.5);
    const auto before = other.outcome();
    const auto late_before = late.state();
    EXPECT_THROWS(std::invalid_argument, other([&](Trainer<float>& t) { remember(t); }), part);
    EXPECT_TRUE(same_outcome(other.outcome(), before)) << part;
    EXPECT_EQ(late.state(), late_before);
  };
  const std::string who = "[Trainer] the checkpoint in " + folder.str() + " must be of the same ";
  missing([&](auto& t) { t.remember("late", late); }, who);
  missing([&](auto& t) { t.remember("late", late); }, "another folder:\n  missing: remembered.late");
  missing([&](auto& t) { t.remember("mean", mean); }, "\n  missing: remembered.mean");
  // One that refuses what it is given, though it is there: what was loaded before it is put back.
  const auto saves = [] { return State<float>{}; };
  const auto refuses = [](const State<float>&) { throw std::runtime_error("not to be had"); };
  missing([&](auto& t) { t.remember("choosy", saves, refuses); }, who);
  missing([&](auto& t) { t.remember("choosy", saves, refuses); }, "\n  remembered.choosy: not to be had");
}

TEST(Resume, ACheckpointOfOtherNumbersIsRefused) {
  const Folder folder;
  Experiment first(folder.str(), 1);
  first();
  const CheckpointFolder<float> checkpoints(folder.str());
  const auto found = checkpoints.newest();
  ASSERT_TRUE(found);
  const auto refused = [&](auto change, const std::string& part) {
    State<float> state = found->state;
    change(state);
    CheckpointFolder<float>(folder.str()).save(found->step, state);
    Experiment other(folder.str(), 2);
    const auto before = other.outcome();
    EXPECT_THROWS(std::invalid_argument, other(), part);
    EXPECT_TRUE(same_outcome(other.outcome(), before)) << part;
  };
  const auto set = [](const char* name, double value) {
    return [name, value](State<float>& s) {
      for (auto& [n, v] : s.numbers)
        if (n == std::string("trainer.") + name) v = value;
    };
  };
  for (const char* name : {"step", "skipped", "evaluations", "best_step", "waited"})
    for (const double value : {-1.0, 0.5, 1e300, double(INFINITY), double(NAN)})
      refused(set(name, value), std::string("\n  ") + name + " must be a whole number from 0");
  const auto drop_best = [](State<float>& s) {
    const auto is_best = [](const auto& entry) { return entry.first == "trainer.best"; };
    s.numbers.erase(std::find_if(s.numbers.begin(), s.numbers.end(), is_best));
  };
  refused(drop_best, "\n  missing: best");
}

TEST(Resume, MetricsFileIsCutToTheResumedStep) {
  const Folder folder;
  Experiment first(folder.str(), 3);
  const auto report = first();
  const std::string path = folder / "metrics.csv", bytes = bytes_of(path);
  // As a crash leaves it: a line of a later step, and one that is cut short.
  put_bytes(path, bytes + "36,4,0.5,0.25,0.125,0\n45,5,0.");
  Experiment again(folder.str(), 3);
  EXPECT_EQ(again().history.size(), 3u);
  EXPECT_EQ(bytes_of(path), bytes);

  // Lines that are gone stay gone, which is said.
  std::filesystem::remove(path);
  Experiment once_more(folder.str(), 3);
  once_more.options.log = std::tmpfile();
  EXPECT_EQ(once_more().history.size(), 0u);
  std::string text(2000, '\0');
  std::rewind(once_more.options.log);
  text.resize(std::fread(text.data(), 1, text.size(), once_more.options.log));
  std::fclose(once_more.options.log);
  EXPECT_NE(text.find(path + " lacks 3 earlier lines\n"), std::string::npos) << text;
}

TEST(Resume, APictureOfTheCurvesAtTheEnd) {
  const Folder folder;
  Experiment run(folder.str(), 2);
  run.options.picture = true;
  run();
  const bool drawn = bytes_of(folder / "curves.png").substr(0, 8) == "\x89PNG\r\n\x1a\n";
  EXPECT_EQ(drawn, std::system("command -v gnuplot > /dev/null 2>&1") == 0);
}

}  // namespace

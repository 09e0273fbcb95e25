#include "trainer.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "../core/checkpoint_folder.hpp"
#include "../core/finite.hpp"
#include "../core/plot.hpp"
#include "../core/progress.hpp"
#include "../core/weighted_mean.hpp"
#include "clip.hpp"

namespace xgrad {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check(const TrainerOptions& o) {
  const auto require = [](bool good, const char* what) {
    if (!good) fail<std::invalid_argument>("Trainer", what);
  };
  require(o.epochs > 0 || o.steps > 0, "epochs or steps must be at least 1 but both are 0");
  require(o.batch_size > 0, "batch_size must be at least 1 but is 0");
  require(o.keep > 0, "keep must be at least 1 but is 0");
  if (!(o.clip_norm > 0)) fail<std::invalid_argument>("Trainer", "clip_norm must be > 0 but is ", o.clip_norm);
  if (!(o.min_improvement >= 0))
    fail<std::invalid_argument>("Trainer", "min_improvement must be >= 0 but is ", o.min_improvement);
  require(!o.folder.empty() || o.checkpoint_every == 0, "checkpoint_every needs a folder; set folder");
}

void draw_curves(const std::string& path, const std::vector<Metrics>& history, std::FILE* log) {
  Series train{"training", "lines lw 2", {}, {}}, validation{"validation", "lines lw 2", {}, {}};
  bool positive = true;
  for (const Metrics& m : history) {
    train.x.push_back(static_cast<double>(m.step));
    train.y.push_back(m.train_loss);
    validation.y.push_back(m.validation_loss);
    positive = positive && !(m.train_loss <= 0) && !(m.validation_loss <= 0);
  }
  validation.x = train.x;
  plot(path, {{"loss by step", positive ? "set logscale y" : "", {train, validation}}}, log);
}

}  // namespace

template <class T>
Trainer<T>::Trainer(Module<T>& model, Optimizer<T>& optimizer, TrainerOptions options)
    : model_(model), optimizer_(optimizer), options_(std::move(options)) {
  check(options_);
}

template <class T>
void Trainer<T>::remember(const std::string& name, std::function<State<T>()> save,
                          std::function<void(const State<T>&)> load) {
  if (name.empty() || name.find('.') != std::string::npos)
    fail<std::invalid_argument>("Trainer", "a name to remember must be without dots and not empty but is \"", name,
                                "\"");
  for (const Keepsake& k : keepsakes_)
    if (k.name == name) fail<std::invalid_argument>("Trainer", "two things to remember are named \"", name, "\"");
  keepsakes_.push_back({name, std::move(save), std::move(load)});
}

template <class T>
void Trainer<T>::remember(const std::string& name, Rng& generator) {
  const auto save = [&generator] { return State<T>{{}, {{"state", generator.state()}}, {}}; };
  remember(name, save, [&generator](const State<T>& s) { generator.set_state(s.generator("state")); });
}

template <class T>
void Trainer<T>::remember(const std::string& name, Ema<T>& ema) {
  const auto save = [&ema] { return ema.state(); };
  remember(name, save, [&ema](const State<T>& s) { ema.load_state(s); });
}

template <class T>
void Trainer<T>::remember(const std::string& name, ReduceOnPlateau& plateau) {
  const auto save = [&plateau] { return plateau.template state<T>(); };
  remember(name, save, [&plateau](const State<T>& s) { plateau.template load_state<T>(s); });
}

/// One run: its position, which a checkpoint holds, and what it works with.
template <class T>
class Trainer<T>::Run {
 public:
  Run(Trainer& trainer, const Objective<T>& train, const Objective<T>* validation)
      : model_(trainer.model_),
        optimizer_(trainer.optimizer_),
        options_(trainer.options_),
        train_(train),
        validation_(validation),
        guard_(model_, options_.non_finite) {
    keepsakes_.push_back({"optimizer", [&o = optimizer_] { return o.state(); },
                          [&o = optimizer_](const State<T>& s) { o.load_state(s); }});
    for (const Keepsake& k : trainer.keepsakes_) keepsakes_.push_back({"remembered." + k.name, k.save, k.load});
    if (train.row_count() == 0) fail<std::invalid_argument>("Trainer", "there must be rows to train on but are none");
    if (validation && validation->row_count() == 0)
      fail<std::invalid_argument>("Trainer", "there must be rows to validate on but are none");
    if (options_.patience > 0 && !validation)
      fail<std::invalid_argument>("Trainer", "patience needs a validation; pass one to fit or set patience to 0");
    const std::size_t rest = train.row_count() % options_.batch_size;
    epoch_steps_ = train.row_count() / options_.batch_size + (rest > 0 && !options_.drop_last);
    if (epoch_steps_ == 0)
      fail<std::invalid_argument>("Trainer", "batch_size ", options_.batch_size, " with drop_last leaves no batch of ",
                                  train.row_count(), " rows");
    last_step_ = options_.steps > 0 ? options_.steps : options_.epochs * epoch_steps_;
    best_ = options_.maximize ? -infinity : infinity;
  }

  TrainerReport operator()() {
    if (!options_.folder.empty()) open_folder();
    {
      Progress progress(last_step_, step_, options_.log);
      while (step_ < last_step_ && !out_of_patience()) {
        step();
        const bool last = step_ == last_step_;
        const bool evaluates = last || step_ % evaluation_interval() == 0;
        if (evaluates) evaluate();
        const bool saves = last || out_of_patience() ||
                           (options_.checkpoint_every > 0 ? step_ % options_.checkpoint_every == 0 : evaluates);
        if (folder_ && saves) folder_->save(step_, checkpoint());
        if (progress.due(step_)) progress.show(step_, text());
      }
    }
    return finish();
  }

 private:
  std::uint64_t evaluation_interval() const {
    return options_.evaluate_every > 0 ? options_.evaluate_every : epoch_steps_;
  }
  bool out_of_patience() const { return options_.patience > 0 && waited_ >= options_.patience; }
  std::uint64_t epoch() const { return (std::max<std::uint64_t>(step_, 1) - 1) / epoch_steps_ + 1; }

  template <class... Parts>
  void say(const Parts&... parts) const {
    if (options_.log) std::fprintf(options_.log, "%s\n", (std::string() + ... + parts).c_str());
  }

  /// The rows of the batch after `step_` batches. Each epoch's order is a function of seed and epoch alone, so that
  /// nothing but the step needs to be kept to go on within one.
  Index next_rows() {
    const std::uint64_t epochs_done = step_ / epoch_steps_;
    if (epochs_done != order_epoch_) {
      Rng parent;
      parent.set_state(
          {options_.seed, 0, ~epochs_done});  // counted from the far end: no split of the user's gets there
      order_ = parent.split().permutation(train_.row_count());
      order_epoch_ = epochs_done;
    }
    const std::size_t first = step_ % epoch_steps_ * options_.batch_size;
    return from<std::int64_t>(order_.data() + first, {std::min(options_.batch_size, order_.size() - first)});
  }

  void step() {
    const Index rows = next_rows();
    if (options_.lr) optimizer_.set_lr(options_.lr(step_));
    const Variable<T> loss = train_.loss(rows);
    const auto value = static_cast<double>(loss.item());
    if (updates(loss, value)) {
      train_loss_.add(value, rows.size());
      if (options_.after_step) options_.after_step();
    } else {
      ++skipped_;
    }
    ++step_;
  }

  /// Does the update; false when loss or gradient is not finite.
  bool updates(const Variable<T>& loss, double value) {
    const auto where = [&] {
      return "step " + std::to_string(step_ + 1) + " (epoch " + std::to_string(step_ / epoch_steps_ + 1) + ", batch " +
             std::to_string(step_ % epoch_steps_ + 1) + ")";
    };
    if (!std::isfinite(value)) {
      if (options_.non_finite == NonFinite::skip) return false;
      fail<AnomalyError>("Trainer", "the loss must be finite but is ", detail::number_text(value), " at ", where(),
                         "; lower the learning rate, look at the data, or leave such steps out (NonFinite::skip)");
    }
    optimizer_.zero_grad();
    loss.backward();
    try {
      if (!guard_.passes()) return false;
    } catch (const AnomalyError& error) {
      fail<AnomalyError>("Trainer", "at ", where(), ": ", error.what());
    }
    if (options_.clip_norm < infinity) clip_grad_norm(optimizer_.parameters(), options_.clip_norm);
    optimizer_.step();
    return true;
  }

  void evaluate() {
    Metrics m;
    m.step = step_;
    m.epoch = epoch();
    m.lr = optimizer_.lr();
    m.train_loss = train_loss_.value();
    m.skipped = skipped_;
    train_loss_ = {};
    if (validation_) {
      const EvalScope<T> scope(model_);
      m.validation_loss = validation_->mean(options_.batch_size);
    }
    if (validation_) compare(m.validation_loss);
    history_.push_back(m);
    if (metrics_) metrics_->append(m);
    if (options_.after_evaluation) options_.after_evaluation(m);
  }

  void compare(double value) {
    const double gain = options_.maximize ? value - best_ : best_ - value;
    if (gain > options_.min_improvement) {  // false for NaN
      best_ = value;
      best_step_ = step_;
      waited_ = 0;
      if (options_.restore_best) best_model_ = state(model_);
    } else {
      ++waited_;
    }
  }

  State<T> checkpoint() {
    State<T> all = kept();
    all.append("model.", state(model_));
    all.append("best.", best_model_);
    all.append("trainer.", position());
    return all;
  }

  State<T> kept() const {
    State<T> all;
    for (const Keepsake& k : keepsakes_) all.append(k.name + '.', k.save());
    return all;
  }

  State<T> position() const {
    State<T> result;
    result.generators = {{"order", {options_.seed, 0, 0}}};  // a seed has more bits than a number
    result.numbers = {{"rows", static_cast<double>(train_.row_count())},
                      {"batch_size", static_cast<double>(options_.batch_size)},
                      {"drop_last", options_.drop_last ? 1. : 0.},
                      {"step", static_cast<double>(step_)},
                      {"skipped", static_cast<double>(skipped_)},
                      {"evaluations", static_cast<double>(history_.size())},
                      {"loss_sum", train_loss_.sum},
                      {"loss_rows", train_loss_.weight},
                      {"best", best_},
                      {"best_step", static_cast<double>(best_step_)},
                      {"waited", static_cast<double>(waited_)}};
    return result;
  }

  /// Goes on from the newest checkpoint, if there is one; opens the metrics file.
  void open_folder() {
    folder_.emplace(options_.folder, options_.keep);
    if (!options_.resume && !folder_->steps().empty())
      fail<std::invalid_argument>("Trainer", options_.folder,
                                  " holds checkpoints of an earlier run; resume it, remove ",
                                  "them, or choose another folder");
    const std::string metrics = options_.folder + "/metrics.csv";
    if (const auto found = folder_->newest()) {
      for (const std::string& line : found->damaged) say("damaged checkpoint passed over: ", line);
      load(found->state);
      history_ = MetricsFile::read(metrics, step_);
      say("resumed from ", folder_->file(step_), " at step ", std::to_string(step_), " of ",
          std::to_string(last_step_));
      if (const auto lacks = found->state.number("trainer.evaluations") - static_cast<double>(history_.size());
          lacks > 0)
        say(metrics, " lacks ", std::to_string(static_cast<long long>(lacks)), " earlier lines");
    }
    metrics_ = std::make_unique<MetricsFile>(metrics, history_);
  }

  /// What keeps this run from going on from a checkpoint, a line each. `before` is what `kept` gives now.
  std::string misfits(const State<T>& all, const State<T>& before) const {
    const State<T> p = all.part("trainer."), now = position();
    std::string result = differences(names_of(all.part("model.")), state_names(model_), true);
    const auto is_empty = [](const State<T>& s) {
      return s.arrays.empty() && s.generators.empty() && s.numbers.empty();
    };
    for (const Keepsake& k : keepsakes_)
      if (is_empty(all.part(k.name + '.')) && !is_empty(before.part(k.name + '.'))) result += "\n  missing: " + k.name;
    const std::string unlike = differences(names_of(p), names_of(now), true);
    if (!unlike.empty()) return result + unlike;
    for (const char* name : {"rows", "batch_size", "drop_last"})
      if (p.number(name) != now.number(name)) result += "\n  " + std::string(name) + " differs";
    if (p.generator("order").key != options_.seed) result += "\n  seed differs";
    for (const char* name : {"step", "skipped", "evaluations", "best_step", "waited"})
      if (!is_count(p.number(name))) result += "\n  " + std::string(name) + " must be a whole number from 0";
    return result;
  }

  /// Nothing changes when it throws, unless what was remembered cannot be loaded back either.
  void load(const State<T>& all) {
    const State<T> before = kept();
    const auto refuse_if = [&](const std::string& complaints) {
      if (complaints.empty()) return;
      fail<std::invalid_argument>("Trainer", "the checkpoint in ", options_.folder,
                                  " must be of the same model, data and order, with all that is remembered; use those, "
                                  "or another folder:",
                                  complaints);
    };
    refuse_if(misfits(all, before));
    std::size_t i = 0;
    try {
      for (; i < keepsakes_.size(); ++i) keepsakes_[i].load(all.part(keepsakes_[i].name + '.'));
    } catch (const std::exception& error) {
      const std::string complaint = "\n  " + keepsakes_[i].name + ": " + error.what();
      while (i-- > 0) keepsakes_[i].load(before.part(keepsakes_[i].name + '.'));
      refuse_if(complaint);
    }
    const State<T> p = all.part("trainer.");
    load_state(model_, all.part("model."));
    best_model_ = all.part("best.");
    step_ = static_cast<std::uint64_t>(p.number("step"));
    skipped_ = static_cast<std::uint64_t>(p.number("skipped"));
    train_loss_.sum = p.number("loss_sum");
    train_loss_.weight = p.number("loss_rows");
    best_ = p.number("best");
    best_step_ = static_cast<std::uint64_t>(p.number("best_step"));
    waited_ = static_cast<std::size_t>(p.number("waited"));
  }

  TrainerReport finish() {
    TrainerReport report{history_, step_, skipped_, best_step_, best_, out_of_patience()};
    if (best_step_ == 0) report.best_loss = std::numeric_limits<double>::quiet_NaN();
    if (report.stopped_early)
      say("stopped early: ", std::to_string(waited_), " evaluations without a better one, at step ",
          std::to_string(step_));
    if (skipped_ > 0) say(std::to_string(skipped_), " steps were left out: loss or gradient was not finite");
    if (options_.restore_best && !best_model_.arrays.empty()) {
      load_state(model_, best_model_);
      say("best validation ", number(best_), " at step ", std::to_string(best_step_), ": the model is back there");
    }
    if (folder_ && options_.picture) draw_curves(options_.folder + "/curves.png", history_, options_.log);
    return report;
  }

  static std::string number(double x) { return detail::number_text(x, 4); }

  /// "epoch 3, step 90 of 300, loss 0.0123, validation 0.0145, best 0.0141 at step 60"
  std::string text() const {
    std::string result =
        "epoch " + std::to_string(epoch()) + ", step " + std::to_string(step_) + " of " + std::to_string(last_step_) +
        ", loss " +
        number(train_loss_.weight > 0 || history_.empty() ? train_loss_.value() : history_.back().train_loss);
    if (validation_ && !history_.empty()) result += ", validation " + number(history_.back().validation_loss);
    if (best_step_ > 0) result += ", best " + number(best_) + " at step " + std::to_string(best_step_);
    return result;
  }

  Module<T>& model_;
  Optimizer<T>& optimizer_;
  const TrainerOptions& options_;
  std::vector<Keepsake> keepsakes_;  // of the user, and the optimizer
  const Objective<T>& train_;
  const Objective<T>* validation_;
  GradGuard<T> guard_;
  std::optional<CheckpointFolder<T>> folder_;
  std::unique_ptr<MetricsFile> metrics_;
  std::uint64_t epoch_steps_ = 0, last_step_ = 0;
  Index order_;                                    // of the rows in epoch number order_epoch_, from 0
  std::uint64_t order_epoch_ = ~std::uint64_t{0};  // none yet

  std::uint64_t step_ = 0, skipped_ = 0, best_step_ = 0;
  WeightedMean train_loss_;  // since the last evaluation
  double best_ = 0;
  std::size_t waited_ = 0;  // evaluations since the best
  State<T> best_model_;
  std::vector<Metrics> history_;
};

template <class T>
TrainerReport Trainer<T>::run(const Objective<T>& train, const Objective<T>* validation) {
  return Run(*this, train, validation)();
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace xgrad

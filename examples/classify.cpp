// Reads handwritten digits: a LayerNorm + feed-forward classifier, trained by AdamW on copies shifted at random.
//
//     classify [--seed N] [--epochs N] [--picture FILE.png]
//
// The first half of the rows of data/digits.txt is for training, the rest for the test: see results.md.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>
#include <xgrad/xgrad.hpp>

#include "format.hpp"

using xgrad::Array;
using xgrad::Index;
using xgrad::Series;

constexpr std::size_t kSide = 8, kPixels = kSide * kSide, kClasses = 10;

class Classifier : public xgrad::Module<float> {
 public:
  Classifier(std::size_t d, double dropout, xgrad::Rng& rng)
      : embed(kPixels, d, rng), norm(d), ffn(ffn_options(d, dropout), rng), last_norm(d), head(d, kClasses, rng) {}

  xgrad::Variable<float> operator()(const xgrad::Variable<float>& x) {  // (batch, 64) -> logits (batch, 10)
    const auto h = embed(x);
    return head(last_norm(h + ffn(norm(h))));
  }

  void visit(xgrad::Visitor<float>& v) override {
    v("embed", embed);
    v("norm", norm);
    v("ffn", ffn);
    v("last_norm", last_norm);
    v("head", head);
  }
  std::string name() const override { return "Classifier"; }

  xgrad::Linear<float> embed;
  xgrad::LayerNorm<float> norm;
  xgrad::FeedForward<float> ffn;
  xgrad::LayerNorm<float> last_norm;
  xgrad::Linear<float> head;

 private:
  static xgrad::FeedForwardOptions ffn_options(std::size_t d, double dropout) {
    xgrad::FeedForwardOptions options;
    options.d_model = d;
    options.activation = xgrad::Activation::gelu;
    options.dropout = dropout;
    return options;
  }
};

struct Images {
  Array<float> x;  // (images, 64), ink from 0 to 1
  Index digit;     // (images)
};

/// Rows `first`, ..., `last` - 1 of a table whose last column is the digit.
Images pick(const Array<double>& table, std::size_t first, std::size_t last) {
  Images images{xgrad::empty<float>({last - first, kPixels}), xgrad::empty<std::int64_t>({last - first})};
  for (std::size_t i = first; i < last; ++i) {
    for (std::size_t j = 0; j < kPixels; ++j) images.x(i - first, j) = static_cast<float>(table(i, j) / 16);
    images.digit(i - first) = static_cast<std::int64_t>(table(i, kPixels));
  }
  return images;
}

/// Each image moved by -1, 0 or 1 pixels across and down: the digit stays the same, the network sees more of them.
Array<float> shifted(const Array<float>& images, xgrad::Rng& rng) {
  const std::size_t count = images.shape()[0];
  constexpr auto side = static_cast<std::int64_t>(kSide);
  const Index by = rng.integers(-1, 2, {count, 2});
  Array<float> result = xgrad::zeros<float>({count, kPixels});
  for (std::size_t i = 0; i < count; ++i)
    for (std::int64_t r = 0; r < side; ++r)
      for (std::int64_t c = 0; c < side; ++c)
        if (const std::int64_t from_r = r - by(i, 0), from_c = c - by(i, 1);
            from_r >= 0 && from_r < side && from_c >= 0 && from_c < side)
          result(i, r * side + c) = images(i, from_r * side + from_c);
  return result;
}

/// counts[true digit][read digit].
using Confusion = std::vector<std::vector<int>>;

Confusion confusion_of(Classifier& model, const Images& images) {
  const xgrad::NoGrad off;
  const xgrad::EvalScope<float> eval(model);
  const Array<float> logits = model(images.x).value();
  Confusion counts(kClasses, std::vector<int>(kClasses, 0));
  for (std::size_t i = 0; i < images.digit.size(); ++i) {
    std::size_t read = 0;
    for (std::size_t k = 1; k < kClasses; ++k)
      if (logits(i, k) > logits(i, read)) read = k;
    ++counts[static_cast<std::size_t>(images.digit(i))][read];
  }
  return counts;
}

void print(const Confusion& counts) {
  std::printf("\nconfusion (rows: true digit, columns: read as)\n     ");
  for (std::size_t k = 0; k < kClasses; ++k) std::printf("%5zu", k);
  for (std::size_t t = 0; t < kClasses; ++t) {
    std::printf("\n%5zu", t);
    for (const int n : counts[t]) n ? std::printf("%5d", n) : std::printf("    .");
  }
  std::printf("\n");
}

/// The matrix as coloured squares with their counts, in gnuplot's words.
xgrad::Panel drawn(const Confusion& counts) {
  std::string commands =
      "unset logscale\nset size ratio -1\nset xrange [-0.5:9.5]\nset yrange [9.5:-0.5]\nset xtics 1\nset ytics 1\n"
      "set xlabel 'read as'\nset ylabel 'true digit'\nunset key\n";
  for (std::size_t t = 0; t < kClasses; ++t)
    for (std::size_t r = 0; r < kClasses; ++r) {
      if (counts[t][r] == 0) continue;
      commands += format("set object rectangle center %zu,%zu size 1,1 fillcolor rgb '%s' fillstyle solid\n", r, t,
                         t == r ? "#bbddbb" : "#ee9999");
      commands += format("set label '%d' at %zu,%zu center front\n", counts[t][r], r, t);
    }
  return {"test digits", commands, {{"", "dots", {0}, {0}}}};
}

void run(std::uint64_t seed, std::size_t epochs, const std::string& picture) {
  const Array<double> table = xgrad::read_table(EXAMPLES_DATA "/digits.txt").values;
  const std::size_t count = table.shape()[0], half = count / 2;
  const Images train = pick(table, 0, half), test = pick(table, half, count);
  std::printf("%zu digits to train on, %zu to test on\n", half, count - half);

  xgrad::Rng rng(seed);
  Classifier model(64, 0.2, rng);
  const double lr = 3e-3;
  xgrad::AdamW<float> adam(xgrad::decay_groups(model), {lr});
  Series losses{"training loss", "lines lw 2", {}, {}};
  xgrad::Progress progress(epochs);
  for (std::size_t epoch = 1; epoch <= epochs; ++epoch) {
    adam.set_lr(xgrad::schedule::cosine(epoch - 1, lr, epochs));
    xgrad::WeightedMean mean;
    for (auto [x, digit] : xgrad::batches(train.x, train.digit, 32, rng)) {
      const auto loss = xgrad::cross_entropy(model(shifted(x.value(), rng)), digit);
      adam.zero_grad();
      loss.backward();
      adam.step();
      mean.add(loss.item(), digit.size());
    }
    losses.x.push_back(static_cast<double>(epoch));
    losses.y.push_back(mean.value());
    progress.show(epoch, format("epoch %zu of %zu, loss %.4f", epoch, epochs, mean.value()));
  }

  const Confusion counts = confusion_of(model, test);
  print(counts);
  int right = 0;
  for (std::size_t k = 0; k < kClasses; ++k) right += counts[k][k];
  std::printf("\ntest accuracy %.4f\n", right / static_cast<double>(count - half));
  xgrad::plot(picture, {{"loss by epoch", "set logscale y", {losses}}, drawn(counts)});
}

int main(int argc, char** argv) {
  std::uint64_t seed = 1;
  std::size_t epochs = 300;
  std::string picture = "classify.png";
  CLI::App app{"Learns to read handwritten digits and shows which are taken for which."};
  app.add_option("--seed", seed, "seed of weights, shifts and order of batches")->capture_default_str();
  app.add_option("--epochs", epochs, "passes over the training data")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--picture", picture, "where the picture goes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(seed, epochs, picture);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "classify: %s\n", error.what());
    return 1;
  }
}

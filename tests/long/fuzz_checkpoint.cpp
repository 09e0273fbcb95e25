// libFuzzer on checkpoints: any bytes, read as a state, as a model and as the newest file of a run's folder, give
// either an error or a state that saves and loads again; a model that refuses them keeps its numbers.
#include <xgrad/core/checkpoint.hpp>
#include <xgrad/core/checkpoint_folder.hpp>
#include <xgrad/layers/dropout.hpp>
#include <xgrad/layers/linear.hpp>
#include <xgrad/layers/sequential.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "fuzz_file.hpp"

namespace {

using Model = xgrad::Sequential<float>;

Model& model() {
  static xgrad::Rng rng(1);
  static Model result{xgrad::Linear<float>(2, 1, rng), xgrad::Dropout<float>(0.5, rng)};
  return result;
}

template <class T>
bool same(const xgrad::State<T>& a, const xgrad::State<T>& b) {
  const auto same_array = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.shape() == y.second.shape() &&
           (x.second.size() == 0 || std::memcmp(x.second.data(), y.second.data(), x.second.size() * sizeof(T)) == 0);
  };
  const auto same_generator = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.key == y.second.key && x.second.position == y.second.position &&
           x.second.splits == y.second.splits;
  };
  return std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(), same_array) &&
         std::equal(a.generators.begin(), a.generators.end(), b.generators.begin(), b.generators.end(), same_generator);
}

// A folder of this process that holds the bytes as a run's newest checkpoint.
const std::string& folder() {
  static const std::string path =
      (std::filesystem::temp_directory_path() / "xgrad_fuzz_checkpoint_").string() + std::to_string(getpid());
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz_file(data, size);
  const xgrad::State<float> before = xgrad::state(model());
  xgrad::LoadOptions options;
  options.strict = size % 2 == 0;
  try {
    xgrad::load(path, model(), options);
    xgrad::load_state(model(), before);
  } catch (const xgrad::FileError&) {
    if (!same(before, xgrad::state(model()))) std::abort();
  }

  xgrad::State<double> state;
  try {
    state = xgrad::read_state<double>(path);
  } catch (const xgrad::FileError&) {
    return 0;
  }
  xgrad::CheckpointFolder<double> run(folder());
  run.save(1, state);
  const auto found = run.newest();
  if (!found || !same(found->state, state)) std::abort();
  return 0;
}

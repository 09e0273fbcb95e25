#include <filesystem>

#include "run.hpp"

namespace {

using namespace xgrad::testing;

TEST(TrainResume, AKilledRunEndsAsOneThatWasLeftAlone) {
  const std::string whole = temporary("whole"), part = temporary("part");
  const auto left_alone = run("--epochs 12 --folder '" + whole + "'");
  ASSERT_EQ(left_alone.status, 0) << left_alone.err;
  // As the program says, it may be killed whenever it likes: here as soon as there is a checkpoint, not merely the
  // beginning of one (.tmp).
  const std::string kill_soon = "'" EXAMPLE "' --epochs 12 --folder '" + part + "' > /dev/null & p=$!; while ! ls '" +
                                part + "'/checkpoint_*.safetensors > /dev/null 2>&1; do sleep 0.01; done; " +
                                "kill -9 $p; wait $p 2> /dev/null; ";
  const auto resumed = run("--epochs 12 --folder '" + part + "'", kill_soon);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resumed from " + part + "/checkpoint_"), std::string::npos) << resumed.out;
  EXPECT_EQ(content(part + "/model.safetensors"), content(whole + "/model.safetensors"));
  EXPECT_EQ(content(part + "/metrics.csv"), content(whole + "/metrics.csv"));
  EXPECT_FALSE(content(whole + "/model.safetensors").empty());
  EXPECT_EQ(is_png(whole + "/curves.png"), have_gnuplot());
  for (const std::string& folder : {whole, part}) std::filesystem::remove_all(folder);
}

TEST(TrainResume, ComesNearTheNoise) {
  const std::string folder = temporary("folder");
  const auto [status, out, err] = run("--folder '" + folder + "'");
  ASSERT_EQ(status, 0) << err;
  EXPECT_LT(number_after(out, "validation RMSE "), 0.13) << out;
  EXPECT_GT(number_after(out, "validation RMSE "), 0.09) << out;
  std::filesystem::remove_all(folder);
}

}  // namespace

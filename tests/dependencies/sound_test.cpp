// libsndfile.
#include <gtest/gtest.h>
#include <sndfile.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace {

TEST(Dependencies, LibsndfileWritesAndReadsASound) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("attend_dependencies_" + std::to_string(getpid()) + ".wav");
  const std::vector<short> samples = {0, 1000, -1000, 32767, -32768};
  SF_INFO info{};
  info.samplerate = 16000, info.channels = 1, info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  SNDFILE* sound = sf_open(file.c_str(), SFM_WRITE, &info);
  ASSERT_NE(sound, nullptr);
  EXPECT_EQ(sf_write_short(sound, samples.data(), 5), 5);
  sf_close(sound);

  info = {};
  sound = sf_open(file.c_str(), SFM_READ, &info);
  ASSERT_NE(sound, nullptr);
  std::vector<short> read(5);
  EXPECT_EQ(sf_read_short(sound, read.data(), 5), 5);
  sf_close(sound);
  std::filesystem::remove(file);
  EXPECT_EQ(info.samplerate, 16000);
  EXPECT_EQ(read, samples);
}

}  // namespace

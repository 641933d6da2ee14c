// OpenCV, Pango and Cairo.
#include <gtest/gtest.h>
#include <pango/pangocairo.h>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

namespace {

TEST(Dependencies, OpenCvWritesAndReadsAPicture) {
  cv::Mat picture(8, 12, CV_8UC3, cv::Scalar(0, 0, 0));
  cv::rectangle(picture, cv::Rect(2, 3, 4, 2), cv::Scalar(10, 20, 30), cv::FILLED);
  std::vector<unsigned char> png;
  ASSERT_TRUE(cv::imencode(".png", picture, png));
  const cv::Mat read = cv::imdecode(png, cv::IMREAD_COLOR);
  ASSERT_EQ(read.size(), picture.size());
  EXPECT_EQ(cv::norm(read, picture, cv::NORM_INF), 0);
  EXPECT_EQ(read.at<cv::Vec3b>(3, 2), cv::Vec3b(10, 20, 30));
}

TEST(Dependencies, PangoAndCairoDrawText) {
  cairo_surface_t* surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 80, 24);
  cairo_t* cairo = cairo_create(surface);
  PangoLayout* layout = pango_cairo_create_layout(cairo);
  pango_layout_set_text(layout, "attend", -1);
  int width = 0, height = 0;
  pango_layout_get_pixel_size(layout, &width, &height);
  pango_cairo_show_layout(cairo, layout);
  cairo_surface_flush(surface);
  const unsigned char* pixels = cairo_image_surface_get_data(surface);
  int inked = 0;
  for (int i = 0; i < 24 * cairo_image_surface_get_stride(surface); ++i) inked += pixels[i] != 0;
  g_object_unref(layout);
  cairo_destroy(cairo);
  cairo_surface_destroy(surface);
  EXPECT_GT(width, 0);
  EXPECT_GT(height, 0);
  EXPECT_GT(inked, 0);
}

}  // namespace

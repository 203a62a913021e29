// SPDX-License-Identifier: Apache-2.0
#include "objects/skeletons.h"

namespace dvnn::objects {
namespace {

// Left and right are those of the person, not of the picture.
// COCO's key points of persons. Source: Lin et al., "Microsoft COCO" (2014).
constexpr const char* kCocoPoints[] = {
    "nose",           "left eye",   "right eye",   "left ear",   "right ear",   "left shoulder",
    "right shoulder", "left elbow", "right elbow", "left wrist", "right wrist", "left hip",
    "right hip",      "left knee",  "right knee",  "left ankle", "right ankle"};
constexpr SkeletonEdge kCocoEdges[] = {{0, 1},  {0, 2},   {1, 3},   {2, 4},   {3, 5},   {4, 6},
                                       {5, 6},  {5, 7},   {7, 9},   {6, 8},   {8, 10},  {5, 11},
                                       {6, 12}, {11, 12}, {11, 13}, {13, 15}, {12, 14}, {14, 16}};

// The five points of face detectors and aligners (WIDER FACE, ArcFace).
constexpr const char* kFive[] = {"right eye", "left eye", "nose", "right mouth corner",
                                 "left mouth corner"};

// BlazeFace's six.
constexpr const char* kSix[] = {"right eye", "left eye", "nose", "mouth", "right ear", "left ear"};

// iBUG 300-W's 68 points: jaw, brows, nose, eyes, lips.
constexpr SkeletonEdge kFace68[] = {
    {0, 1},   {1, 2},   {2, 3},   {3, 4},   {4, 5},   {5, 6},   {6, 7},   {7, 8},   {8, 9},
    {9, 10},  {10, 11}, {11, 12}, {12, 13}, {13, 14}, {14, 15}, {15, 16}, {17, 18}, {18, 19},
    {19, 20}, {20, 21}, {22, 23}, {23, 24}, {24, 25}, {25, 26}, {27, 28}, {28, 29}, {29, 30},
    {31, 32}, {32, 33}, {33, 34}, {34, 35}, {36, 37}, {37, 38}, {38, 39}, {39, 40}, {40, 41},
    {41, 36}, {42, 43}, {43, 44}, {44, 45}, {45, 46}, {46, 47}, {47, 42}, {48, 49}, {49, 50},
    {50, 51}, {51, 52}, {52, 53}, {53, 54}, {54, 55}, {55, 56}, {56, 57}, {57, 58}, {58, 59},
    {59, 48}, {60, 61}, {61, 62}, {62, 63}, {63, 64}, {64, 65}, {65, 66}, {66, 67}, {67, 60}};

// WFLW's 98 points. Source: Wu et al., "Look at Boundary" (2018). The last two are the pupils.
constexpr SkeletonEdge kFace98[] = {
    {0, 1},   {1, 2},   {2, 3},   {3, 4},   {4, 5},   {5, 6},   {6, 7},   {7, 8},   {8, 9},
    {9, 10},  {10, 11}, {11, 12}, {12, 13}, {13, 14}, {14, 15}, {15, 16}, {16, 17}, {17, 18},
    {18, 19}, {19, 20}, {20, 21}, {21, 22}, {22, 23}, {23, 24}, {24, 25}, {25, 26}, {26, 27},
    {27, 28}, {28, 29}, {29, 30}, {30, 31}, {31, 32}, {33, 34}, {34, 35}, {35, 36}, {36, 37},
    {37, 38}, {38, 39}, {39, 40}, {40, 41}, {41, 33}, {42, 43}, {43, 44}, {44, 45}, {45, 46},
    {46, 47}, {47, 48}, {48, 49}, {49, 50}, {50, 42}, {51, 52}, {52, 53}, {53, 54}, {55, 56},
    {56, 57}, {57, 58}, {58, 59}, {60, 61}, {61, 62}, {62, 63}, {63, 64}, {64, 65}, {65, 66},
    {66, 67}, {67, 60}, {68, 69}, {69, 70}, {70, 71}, {71, 72}, {72, 73}, {73, 74}, {74, 75},
    {75, 68}, {76, 77}, {77, 78}, {78, 79}, {79, 80}, {80, 81}, {81, 82}, {82, 83}, {83, 84},
    {84, 85}, {85, 86}, {86, 87}, {87, 76}, {88, 89}, {89, 90}, {90, 91}, {91, 92}, {92, 93},
    {93, 94}, {94, 95}, {95, 88}};

// JD-landmark's 106 points, the order of the ICME 2019 challenge.
constexpr SkeletonEdge kFace106[] = {
    {0, 1},     {1, 2},     {2, 3},   {3, 4},   {4, 5},   {5, 6},   {6, 7},   {7, 8},    {8, 9},
    {9, 10},    {10, 11},   {11, 12}, {12, 13}, {13, 14}, {14, 15}, {15, 16}, {16, 17},  {17, 18},
    {18, 19},   {19, 20},   {20, 21}, {21, 22}, {22, 23}, {23, 24}, {24, 25}, {25, 26},  {26, 27},
    {27, 28},   {28, 29},   {29, 30}, {30, 31}, {31, 32}, {33, 34}, {34, 35}, {35, 36},  {36, 37},
    {37, 67},   {67, 66},   {66, 65}, {65, 64}, {64, 33}, {38, 39}, {39, 40}, {40, 41},  {41, 42},
    {42, 71},   {71, 70},   {70, 69}, {69, 68}, {68, 38}, {43, 44}, {44, 45}, {45, 46},  {47, 48},
    {48, 49},   {49, 50},   {50, 51}, {52, 53}, {53, 72}, {72, 54}, {54, 55}, {55, 56},  {56, 73},
    {73, 57},   {57, 52},   {58, 59}, {59, 75}, {75, 60}, {60, 61}, {61, 62}, {62, 76},  {76, 63},
    {63, 58},   {84, 85},   {85, 86}, {86, 87}, {87, 88}, {88, 89}, {89, 90}, {90, 91},  {91, 92},
    {92, 93},   {93, 94},   {94, 95}, {95, 84}, {96, 97}, {97, 98}, {98, 99}, {99, 100}, {100, 101},
    {101, 102}, {102, 103}, {103, 96}};

// MediaPipe's face mesh of 468 vertices: the contours only.
constexpr SkeletonEdge kFace468[] = {
    {61, 146},  {146, 91},  {91, 181},  {181, 84},  {84, 17},   {17, 314},  {314, 405}, {405, 321},
    {321, 375}, {375, 291}, {291, 409}, {409, 270}, {270, 269}, {269, 267}, {267, 0},   {0, 37},
    {37, 39},   {39, 40},   {40, 185},  {185, 61},  {78, 95},   {95, 88},   {88, 178},  {178, 87},
    {87, 14},   {14, 317},  {317, 402}, {402, 318}, {318, 324}, {324, 308}, {308, 415}, {415, 310},
    {310, 311}, {311, 312}, {312, 13},  {13, 82},   {82, 81},   {81, 80},   {80, 191},  {191, 78},
    {263, 249}, {249, 390}, {390, 373}, {373, 374}, {374, 380}, {380, 381}, {381, 382}, {382, 362},
    {362, 398}, {398, 384}, {384, 385}, {385, 386}, {386, 387}, {387, 388}, {388, 466}, {466, 263},
    {276, 283}, {283, 282}, {282, 295}, {295, 285}, {300, 293}, {293, 334}, {334, 296}, {296, 336},
    {33, 7},    {7, 163},   {163, 144}, {144, 145}, {145, 153}, {153, 154}, {154, 155}, {155, 133},
    {133, 173}, {173, 157}, {157, 158}, {158, 159}, {159, 160}, {160, 161}, {161, 246}, {246, 33},
    {46, 53},   {53, 52},   {52, 65},   {65, 55},   {70, 63},   {63, 105},  {105, 66},  {66, 107},
    {10, 338},  {338, 297}, {297, 332}, {332, 284}, {284, 251}, {251, 389}, {389, 356}, {356, 454},
    {454, 323}, {323, 361}, {361, 288}, {288, 397}, {397, 365}, {365, 379}, {379, 378}, {378, 400},
    {400, 377}, {377, 152}, {152, 148}, {148, 176}, {176, 149}, {149, 150}, {150, 136}, {136, 172},
    {172, 58},  {58, 132},  {132, 93},  {93, 234},  {234, 127}, {127, 162}, {162, 21},  {21, 54},
    {54, 103},  {103, 67},  {67, 109},  {109, 10}};

// MediaPipe's hand: the wrist, and four joints per finger from the palm to the tip.
constexpr const char* kHandPoints[] = {"wrist",
                                       "thumb base",
                                       "thumb knuckle",
                                       "thumb joint",
                                       "thumb tip",
                                       "index finger knuckle",
                                       "index finger middle joint",
                                       "index finger far joint",
                                       "index finger tip",
                                       "middle finger knuckle",
                                       "middle finger middle joint",
                                       "middle finger far joint",
                                       "middle finger tip",
                                       "ring finger knuckle",
                                       "ring finger middle joint",
                                       "ring finger far joint",
                                       "ring finger tip",
                                       "little finger knuckle",
                                       "little finger middle joint",
                                       "little finger far joint",
                                       "little finger tip"};
constexpr SkeletonEdge kHandEdges[] = {{0, 1},   {1, 2},   {2, 3},  {3, 4},   {0, 5},   {5, 6},
                                       {6, 7},   {7, 8},   {9, 10}, {10, 11}, {11, 12}, {13, 14},
                                       {14, 15}, {15, 16}, {0, 17}, {17, 18}, {18, 19}, {19, 20},
                                       {5, 9},   {9, 13},  {13, 17}};

template <typename T, size_t N>
constexpr Span<const T> all_of(const T (&list)[N]) {
  return Span<const T>(list, N);
}

const Skeleton kSkeletons[] = {
    {"coco-17", 17, all_of(kCocoEdges), all_of(kCocoPoints)},
    {"face-5", 5, {}, all_of(kFive)},
    {"face-6", 6, {}, all_of(kSix)},
    {"face-68", 68, all_of(kFace68), {}},
    {"face-98", 98, all_of(kFace98), {}},
    {"face-106", 106, all_of(kFace106), {}},
    {"face-468", 468, all_of(kFace468), {}},
    {"hand-21", 21, all_of(kHandEdges), all_of(kHandPoints)},
};

}  // namespace

const Skeleton* find_skeleton(std::string_view name) {
  for (const Skeleton& skeleton : kSkeletons) {
    if (name == skeleton.name) return &skeleton;
  }
  return nullptr;
}

std::vector<std::string> skeleton_names() {
  std::vector<std::string> names;
  for (const Skeleton& skeleton : kSkeletons) names.emplace_back(skeleton.name);
  return names;
}

}  // namespace dvnn::objects

// SPDX-License-Identifier: Apache-2.0
// A network as the vendor's converter of 2018 wrote them (version 0 commands, callbacks of two
// arguments), with every kind of layer: two 1x1 convolutions of a 4 x 3 picture of 2 channels,
// copied together, doubled by a custom layer, flattened, fully connected, softmax.
#pragma once

#include "dmp_network.h"

struct custom_param_Double {
  float factor;
  int offsets[2];
};

void custom_callback_Double(fpga_layer& layer, void* custom_param);

class CSmall : public CDMP_Network {
 private:
  void Layer_0();
  void Layer_1();
  void Layer_2();
  void Layer_3();
  void Layer_4();
  void Layer_5();
  void Layer_6();

 public:
  virtual bool Initialize();
  CSmall();
  virtual ~CSmall();
};

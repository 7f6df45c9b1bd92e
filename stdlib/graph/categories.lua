-- SPDX-License-Identifier: Apache-2.0
-- How operators compute, for fusion: TVM's categories, by operator.
local category = {}

category.elementwise, category.broadcast, category.injective = 0, 1, 2
category.reduction, category.out_fusable, category.opaque = 3, 4, 5

local of = {}
local function list(kind, names)
  for name in names:gmatch "%S+" do of[name] = category[kind] end
end

list("elementwise", [[
  abs neg sign square reciprocal sqrt rsqrt exp expm1 log log1p sin cos tan asin
  acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc floor ceil round
  relu leaky_relu elu celu selu thresholded_relu shrink gelu gelu_tanh silu
  softplus softsign mish hard_sigmoid hard_swish clamp is_nan is_inf cast
  bit_not logical_not batch_norm quantize dequantize swish swiglu]])
list("broadcast", [[
  add sub mul div floor_div mod fmod pow minimum maximum prelu equal not_equal
  less less_equal greater greater_equal logical_and logical_or logical_xor
  bit_and bit_or bit_xor shift_left shift_right where broadcast]])
list("injective", [[
  transpose reshape slice split concat pad tile trilu depth_to_space
  space_to_depth gather gather_elements gather_nd reverse_sequence one_hot
  constant_of_shape eye range resize2d resize]])
list("reduction",
     "reduce softmax log_softmax layer_norm rms_norm arg_max arg_min")
list("out_fusable", [[
  matmul dense gemm batch_matmul transpose_batch_matmul conv1d_nlc conv1d_ncl
  conv2d_nhwc conv2d_nchw conv2d_nchwc conv3d_ndhwc conv3d_ncdhw
  depthwise_conv2d_nhwc depthwise_conv2d_nchwc conv1d_transpose_nlc
  conv1d_transpose_ncl
  conv2d_transpose_nhwc conv2d_transpose_nchw conv3d_transpose_ndhwc
  conv3d_transpose_ncdhw max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d
  avg_pool3d lp_pool1d lp_pool2d lp_pool3d global_pool1d global_pool2d
  global_pool3d matmul_integer qlinear_matmul conv_integer qlinear_conv
  einsum]])

-- Opaque where it is not said otherwise: alone in a program.
function category.of(op) return of[op] or category.opaque end

return category

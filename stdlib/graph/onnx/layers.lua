-- SPDX-License-Identifier: Apache-2.0
-- ONNX's products, normalisation layers, recurrent layers and gates.

-- A product of vectors is one of matrices of one row, or column.
local function mat_mul(n)
  local a, b = n:needs(1), n:needs(2)
  local sa, sb = a.shape, b.shape
  if #sa == 1 then a = n:reshape(a, { 1, sa[1] }) end
  if #sb == 1 then b = n:reshape(b, { sb[1], 1 }) end
  local y = n.ops.matmul(a, b)
  if #sa > 1 and #sb > 1 then return y end
  local to = y.shape
  if #sb == 1 then table.remove(to) end
  if #sa == 1 then table.remove(to, #to - (#sb == 1 and 0 or 1)) end
  return n:reshape(y, to)
end

local function recurrent_options(name, n)
  local o = { direction = n:attr("direction", "forward"), trans_r = true,
              batch_first = n:attr("layout", 0) == 1, clip = n:attr "clip" }
  if name == "gru" then
    o.linear_before_reset = n:flag "linear_before_reset"
  end
  if name == "lstm" and n:flag "input_forget" then n:refuse "input_forget" end
  for i, a in ipairs(n:attr("activations", {})) do
    o.activations = o.activations or {}
    o.activations[i] = a:lower()
  end
  if n:attr "activation_alpha" or n:attr "activation_beta" then
    n:refuse "parameters of activations"
  end
  o.bias, o.lengths, o.initial = n:x(4), n:x(5), n:x(6)
  if name == "lstm" then o.cell, o.peephole = n:x(7), n:x(8) end
  return o
end

local function recurrent(name)
  return function(n)
    local o, r = recurrent_options(name, n), n:needs(3)
    o.hidden = n:attr "hidden_size" or r.shape[3]
    return n.ops[name](n:needs(1), n:needs(2),
                       n.ops.transpose(r, { perm = { 0, 2, 1 } }), o)
  end
end

-- ONNX Runtime's layer of weights that are bytes [directions, inputs, columns],
-- with a scale and a zero point for each direction, or for each column.
local function dequantized(n, i, scale, zero)
  local ops, w, s = n.ops, n:needs(i), n:needs(scale)
  local function of_columns(x)
    local columns = #x.shape > 1 and x.shape[2] or 1
    return n:reshape(x, { w.shape[1], 1, columns })
  end
  local y = ops.cast(w, { to = s.dtype })
  if n:has(zero) then
    y = ops.sub(y, of_columns(ops.cast(n:needs(zero), { to = s.dtype })))
  end
  return ops.mul(y, of_columns(s))
end

-- From set 21 on a scale and a shift are there for each channel, before for
-- each group.
local function each_channel(n, v, groups, channels)
  if n.opset >= 21 or v.shape[1] ~= groups or groups == channels then
    return v
  end
  local wide = n.ops.broadcast(n:reshape(v, { groups, 1 }),
                               { to = { groups, channels // groups } })
  return n:reshape(wide, { channels })
end

return function(of)
  of.MatMul = mat_mul
  function of.Gemm(n)
    return n.ops.gemm(n:needs(1), n:needs(2), {
      C = n:x(3), alpha = n:attr("alpha", 1), beta = n:attr("beta", 1),
      trans_a = n:flag "transA", trans_b = n:flag "transB" })
  end
  function of.Einsum(n)
    local list = {}
    for i = 1, n:nin() do list[i] = n:needs(i) end
    list[#list + 1] = { equation = n:must "equation" }
    return n.ops.einsum(table.unpack(list))
  end
  function of.Det(n) return n.ops.det(n:needs(1)) end
  of.LSTM, of.GRU, of.RNN = recurrent "lstm", recurrent "gru", recurrent "rnn"
  -- The layer in floats: what is left out is that ONNX Runtime rounds inputs
  -- and states to bytes, too.
  of["com.microsoft.DynamicQuantizeLSTM"] = function(n)
    local o, r = recurrent_options("lstm", n), dequantized(n, 3, 11, 12)
    o.hidden = r.shape[2]
    local w = n.ops.transpose(dequantized(n, 2, 9, 10), { perm = { 0, 2, 1 } })
    return n.ops.lstm(n:needs(1), w, r, o)
  end
  function of.SwiGLU(n)
    return n.ops.swiglu(n:needs(1), n:needs(2), { alpha = n:attr "alpha" })
  end

  -- ---- normalisation -------------------------------------------------------
  function of.BatchNormalization(n)
    local x, eps = n:needs(1), n:attr("epsilon", 1e-5)
    local scale, shift, mean, var = n:needs(2), n:needs(3), n:needs(4),
                                    n:needs(5)
    if n:flag "training_mode" then
      return n.ops.batch_norm_training(x, scale, shift, mean, var, {
        eps = eps, momentum = n:attr("momentum", 0.9) })
    end
    if n:wants(2) then n:refuse "statistics of training" end
    if n:attr("spatial", 1) == 0 then n:refuse "spatial = 0" end
    return n.ops.batch_norm(x, scale, shift, mean, var, { eps = eps })
  end
  function of.LayerNormalization(n)
    return n.ops.layer_norm(n:needs(1), n:needs(2), n:x(3), {
      axis = n:attr("axis", -1), eps = n:attr("epsilon", 1e-5),
      statistics = (n:wants(2) or n:wants(3)) or nil })
  end
  function of.RMSNormalization(n)
    return n.ops.rms_norm(n:needs(1), n:needs(2), {
      axis = n:attr("axis", -1), eps = n:attr("epsilon", 1e-5) })
  end
  function of.GroupNormalization(n)
    local x, groups = n:needs(1), n:must "num_groups"
    local channels = x.shape[2]
    return n.ops.group_norm(x, each_channel(n, n:needs(2), groups, channels),
                            each_channel(n, n:needs(3), groups, channels),
                            { groups = groups, eps = n:attr("epsilon", 1e-5) })
  end
  function of.InstanceNormalization(n)
    return n.ops.group_norm(n:needs(1), n:needs(2), n:needs(3), {
      groups = n:shape(1)[2], eps = n:attr("epsilon", 1e-5) })
  end
  function of.LRN(n)
    return n.ops.lrn(n:needs(1), { size = n:must "size",
                                   alpha = n:attr("alpha", 1e-4),
                                   beta = n:attr("beta", 0.75),
                                   bias = n:attr("bias", 1.0) })
  end

  -- ---- losses, signals -----------------------------------------------------
  local function loss(n, log_p)
    return n.ops.nll_loss(log_p, n:needs(2), {
      weight = n:x(3), op = n:attr("reduction", "mean"),
      ignore = n:attr "ignore_index" })
  end
  function of.NegativeLogLikelihoodLoss(n) return loss(n, n:needs(1)) end
  function of.SoftmaxCrossEntropyLoss(n)
    local log_p = n.ops.log_softmax(n:needs(1), { axis = 1 })
    return loss(n, log_p), log_p
  end
  function of.AffineGrid(n)
    local size = n:values(2) -- images, channels, and their height, ..
    return n.ops.affine_grid(n:needs(1), {
      size = table.move(size, 3, #size, 1, {}),
      align_corners = n:flag "align_corners" })
  end
  function of.DFT(n)
    local axis = n:has(3) and n:value(3) or
                 n:attr("axis", n.opset < 20 and 1 or -2)
    return n.ops.dft(n:needs(1), { axis = axis, length = n:value(2),
                                   inverse = n:flag "inverse",
                                   onesided = n:flag "onesided" })
  end
  function of.STFT(n)
    local window = n:x(3)
    return n.ops.stft(n:needs(1), {
      step = n:value(2), window = window,
      length = n:has(4) and n:value(4) or window and window.shape[1],
      onesided = n:flag("onesided", 1) })
  end
  function of.CausalConvWithState(n)
    local x, w, act = n:needs(1), n:needs(2), n:attr("activation", "none")
    local c, k = w.shape[1], w.shape[3]
    local y, present = n.ops.causal_conv1d(x, n:reshape(w, { c, k }), {
      bias = n:x(3), past = k > 1 and n:x(4) or nil,
      act = act ~= "none" and "silu" or nil })
    if k == 1 then present = n:constant(x.dtype, { x.shape[1], c, 0 }) end
    return y, present
  end
end

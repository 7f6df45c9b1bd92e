-- SPDX-License-Identifier: Apache-2.0
-- Nodes of losses, signals and the like, of operators that are composed.
local ops = require "tessera.ops"

return function(of)
  local function loss(n, log_p, target, weight)
    return ops.nll_loss(log_p, target, {
      weight = weight, op = n:attr("reduction", "mean"),
      ignore = n:attr "ignore_index" })
  end
  function of.NegativeLogLikelihoodLoss(n)
    return loss(n, n:x(1), n:x(2), n:x(3))
  end
  function of.SoftmaxCrossEntropyLoss(n)
    local log_p = ops.log_softmax(n:x(1), { axis = 1 })
    return loss(n, log_p, n:x(2), n:x(3)), log_p
  end
  -- Of graphs of their own, none.
  function of.FlexAttention(n)
    for _, name in ipairs { "score_mod", "prob_mod" } do
      if n:attr(name) then n:refuse("%s is a graph of its own", name) end
    end
    local Q, K, V = n:x(1), n:x(2), n:x(3)
    return (ops.attention(Q, K, V, { scale = n:attr "scale" }))
  end
  function of.AffineGrid(n)
    local size = n:values(2)
    size = table.move(size, 3, #size, 1, {})
    return ops.affine_grid(n:x(1), { size = size,
                                     align_corners = n:flag "align_corners" })
  end
  function of.Det(n) return ops.det(n:x(1)) end
  function of.DFT(n)
    local axis = n:has(3) and n:value(3) or n:attr("axis", n.case.opset < 20
                                                   and 1 or -2)
    return ops.dft(n:x(1), { axis = axis, length = n:value(2),
                             inverse = n:flag "inverse",
                             onesided = n:flag "onesided" })
  end
  function of.STFT(n)
    local window = n:has(3) and n:x(3) or nil
    return ops.stft(n:x(1), { step = n:value(2), window = window,
      length = n:has(4) and n:value(4) or window.shape[1],
      onesided = n:flag("onesided", 1) })
  end
  local function window(coefficients)
    return function(n)
      return ops.cosine_window(nil, {
        n = n:value(1), periodic = n:flag("periodic", 1),
        coefficients = coefficients })
    end
  end
  of.HannWindow = window { 0.5, 0.5, 0.0 }
  of.HammingWindow = window { 25 / 46, 21 / 46, 0.0 }
  of.BlackmanWindow = window { 0.42, 0.5, 0.08 }
end

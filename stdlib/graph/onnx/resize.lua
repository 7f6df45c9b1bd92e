-- SPDX-License-Identifier: Apache-2.0
-- ONNX's resizing, whose sizes are said as extents or as factors.

-- Extents and factors of each dimension: `axes` those that are said, from 1.
local function resized(n, x, scales, sizes)
  local rank, axes, all = #x.shape, n:attr "axes", {}
  local to, factor = {}, {}
  for d = 1, rank do to[d], factor[d] = x.shape[d], 1.0 end
  for i = 1, #(scales or sizes) do
    local d = (axes and axes[i] or i - 1) % rank + 1
    all[#all + 1] = d
    factor[d] = scales and scales[i] or sizes[i] / x.shape[d]
    to[d] = scales and math.floor(x.shape[d] * scales[i]) or sizes[i]
  end
  return to, factor, all
end

-- One factor for all dimensions, so that none gets larger, or smaller, than
-- it is to be.
local function keep_aspect(x, to, factor, all, policy)
  local best
  local choose = policy == "not_larger" and math.min or math.max
  for _, d in ipairs(all) do
    best = best and choose(best, factor[d]) or factor[d]
  end
  for _, d in ipairs(all) do
    factor[d], to[d] = best, math.floor(best * x.shape[d] + 0.5)
  end
end

local function crop(roi, all, rank)
  local list = {}
  for d = 1, 2 * rank do list[d] = d <= rank and 0.0 or 1.0 end
  for i, d in ipairs(all) do
    list[d], list[d + rank] = roi[i], roi[i + #all]
  end
  return list
end

return function(of)
  -- Until set 11 only factors, and other coordinates.
  function of.Resize(n)
    local x, old = n:needs(1), n.opset < 11
    local scales = n:values(old and 2 or 3)
    if scales and #scales == 0 then scales = nil end
    local sizes = not old and not scales and n:values(4) or nil
    if not scales and not sizes then n:refuse "neither scales nor sizes" end
    local to, factor, all = resized(n, x, scales, sizes)
    local policy = n:attr("keep_aspect_ratio_policy", "stretch")
    if sizes and policy ~= "stretch" then
      keep_aspect(x, to, factor, all, policy)
    end
    local o = {
      to = to, scales = factor, mode = n:attr("mode", "nearest"),
      coordinates = n:attr("coordinate_transformation_mode",
                           old and "asymmetric" or "half_pixel"),
      nearest = n:attr("nearest_mode", old and "floor" or "round_prefer_floor"),
      cubic = n:attr("cubic_coeff_a", -0.75),
      exclude_outside = n:flag "exclude_outside",
      antialias = n:flag "antialias",
      outside = n:attr("extrapolation_value", 0.0) }
    if o.coordinates == "tf_crop_and_resize" then
      o.crop = crop(n:values(2), all, #x.shape)
      for i, d in ipairs(all) do
        local part = o.crop[d + #x.shape] - o.crop[d]
        if scales then
          to[d] = math.floor(x.shape[d] * part * scales[i])
        end
      end
    end
    return n.ops.resize(x, o)
  end
  -- Factors were an attribute until set 9.
  function of.Upsample(n)
    local x = n:needs(1)
    local to, factor = resized(n, x, n.opset < 9 and n:must "scales" or
                               n:values(2))
    return n.ops.resize(x, { to = to, scales = factor,
                             mode = n:attr("mode", "nearest"),
                             coordinates = "asymmetric", nearest = "floor" })
  end
end

-- SPDX-License-Identifier: Apache-2.0
-- Tensors of a description: ts.placeholder, ts.compute, ts.program.
local checking = require "tessera.lang.options"
local checks = require "tessera.lang.checks"

local function axis_names(f, n)
  local names, default = {}, { "i", "j", "k", "l", "m", "n" }
  for d = 1, n do
    names[d] = debug.getlocal(f, d) or default[d] or ("i" .. d)
  end
  return names
end

return function(ts, core)
  function ts.placeholder(name, shape, dtype, options)
    if type(dtype) == "table" then dtype, options = nil, dtype end
    core.options("ts.placeholder", options, "role", "range", "sorted", "unique",
                 "offsets_into")
    local b = core.placeholder(name, shape, dtype, options and options.role)
    if options then checks.declare(core, b, name, options) end
    return b
  end
  ts.constant = core.constant
  ts.size = core.size_var

  -- ts.reduce_axis("k", K), or ts.reduce_axis("k", {lo, extent})
  function ts.reduce_axis(name, range)
    local stray = type(range) == "table" and checking.stray(range)
    if stray then
      core.invalid(("reduce axis '%s': { lo, extent } has no field %s")
                   :format(tostring(name), checking.quoted(stray)))
    end
    if type(range) == "table" then
      return core.reduce_axis(name, range[1], range[2])
    end
    return core.reduce_axis(name, 0, range)
  end

  -- ts.compute(name, shape, function(i, j, ...) return body end)
  function ts.compute(name, shape, body)
    checks.name(core, "a compute", name)
    if type(shape) ~= "table" then
      core.invalid(("the shape of compute '%s' must be a list of extents, " ..
                    "not %s"):format(name, type(shape)))
    end
    if type(body) ~= "function" then
      core.invalid(("the body of compute '%s' must be a function of its " ..
                    "axes, not %s"):format(name, type(body)))
    end
    return core.compute(body, name, shape, axis_names(body, #shape))
  end

  function ts.program(name, inputs, outputs)
    if type(outputs) == "table" and #outputs == 0 then
      core.invalid "ts.program: there is no output"
    end
    return core.program(name, inputs, outputs)
  end
end

-- SPDX-License-Identifier: Apache-2.0
-- What follows the sums of a product on a decoupled access-execute machine: as
-- much of it as the vector unit can do becomes one block, which stores; what
-- comes behind that is the host's.
local layout = require "tessera.steps.dae_layout"
local read_json = require "tessera.lang.read_json"
local tiling = require "tessera.tiling"
local epilogue = {}

local commutes = { ["+"] = true, ["*"] = true, min = true, max = true }
local shifts = { ["//"] = true, shl = true, shr = true }

local function is_immediate(x)
  return math.type(x) == "integer" and x >= -32768 and x <= 32767
end

-- The buffer in accumulators that the value loads; nil: it is no such load.
local function loaded(x)
  if type(x) ~= "table" then return nil end
  if x[1] == "cast" and x[2] == "int32" then x = x[3] end
  return type(x) == "table" and x[1] == "load" and x[2] or nil
end

-- What the value is called in a reason.
local function named(x)
  if type(x) ~= "table" then return tostring(x) end
  return x[1] == "cast" and "a cast to " .. x[2] or ("'%s'"):format(x[1])
end

-- Why it is no shift to the right by a constant; nil: it is one.
local function no_shift(x)
  local by = x[3]
  if math.type(by) ~= "integer" then
    return "the vector unit shifts by constants only"
  elseif x[1] ~= "//" then
    return (by < 0 or by > 31) and ("a shift by %d"):format(by) or nil
  end
  return (by < 1 or by & (by - 1) ~= 0) and
         ("the vector unit divides by powers of two, not by %d"):format(by) or
         nil
end

-- Why the vector unit cannot compute the value in place, in the sums, from what
-- they are; nil: it can.  One operand of each operation is what was computed so
-- far, the other one a constant or a load.
local function unfit(x, sums)
  if loaded(x) == sums then return nil end
  local op, a, b = table.unpack(type(x) == "table" and x or {})
  if shifts[op] then return no_shift(x) or unfit(a, sums) end
  if op == "-" then
    if math.type(b) ~= "integer" then
      return "the vector unit subtracts constants only"
    end
    b = -b
  elseif not commutes[op] then
    return ("the vector unit has no %s"):format(named(x))
  elseif math.type(a) == "integer" or loaded(a) and loaded(a) ~= sums then
    a, b = b, a
  end
  if math.type(b) == "integer" then
    return not is_immediate(b) and
           ("the constant %d does not fit 16 bits"):format(b) or unfit(a, sums)
  end
  if not loaded(b) or loaded(b) == sums and loaded(a) ~= sums then
    return ("both operands of '%s' have to be computed"):format(op)
  end
  return unfit(a, sums)
end

-- Why what the block stores of the sums is not the machine's; nil: it is.
local function unfit_store(sch, last, sums, m)
  local dtype = sch:access_info(last, "write", 0).dtype
  local text = sch:stored_value(last)
  if not text then return "it stores several values" end
  local value = read_json(text)
  if dtype == "int8" or dtype == "uint8" then
    if type(value) ~= "table" or value[1] ~= "cast" then
      return "what it stores is no cast of int32"
    end
    value = value[3]
  elseif dtype ~= "int32" or m.store.acc ~= 1 then
    return ("the machine stores %s, no %s"):format(
      m.store.acc == 1 and "int8 and int32" or "bytes only", dtype)
  end
  return unfit(value, sums)
end

-- Why something that the block reads beside the sums is no operand of the
-- vector unit; nil: all are.
local function unfit_reads(sch, last, sums, j)
  for r = 0, sch:block_info(last).reads - 1 do
    local x = sch:access_info(last, "read", r)
    if x.buffer ~= sums then
      if x.dtype ~= "int32" and x.dtype ~= "int8" then
        return ("'%s' is %s, which accumulators do not hold"):format(x.buffer,
                                                                    x.dtype)
      end
      if not layout.dimension_of(x, j) then
        return ("'%s' has no element for each column"):format(x.buffer)
      end
    end
  end
end

-- The elementwise blocks that follow, one after the other, in memory.
local function chain(sch, block)
  local list, at = {}, block
  while not sch:is_output(at) do
    local next = tiling.consumer(sch, at)
    if not next or sch:block_info(next).writes ~= 1 or
       sch:access_info(next, "write", 0).scope ~= "global" then
      break
    end
    list[#list + 1] = next
    at = next
  end
  return list
end

-- The first n of them as one block, or a copy of the sums; and the iter of its
-- columns.  What `column` gives is the dimension of the sums that they index.
local function join(sch, block, list, n, column, m)
  if n == 0 then
    if m.store.acc ~= 1 then
      tiling.refuse "the machine stores bytes only, and the sums are int32"
    end
    return { last = sch:cache_write(block, 0, "local.acc_buffer"), j = column }
  end
  for i = 1, n - 1 do sch:compute_inline(list[i]) end
  local last, sums = list[n], sch:access_info(block, "write", 0).buffer
  local j = layout.iter_of(sch, last, sums, column)
  local why = not j and "it does not read the sums column by column" or
              unfit_store(sch, last, sums, m) or
              unfit_reads(sch, last, sums, j)
  if why then tiling.refuse(why) end
  sch:set_scope(block, 0, "local.acc_buffer")
  return { last = last, j = j }
end

-- A copy of the schedule in which the machine does as much as it can of what
-- follows the sums, in one block; that block, and its iter of columns.  nil and
-- why it can do nothing, not even store.
function epilogue.join(sch, block, column, m)
  local list, why = chain(sch, block), nil
  for n = #list, 0, -1 do
    local made, x = tiling.attempt(sch, join, block, list, n, column, m)
    if made then return made, x end
    if n > 0 then
      x = ("%s: %s"):format(sch:block_info(list[n]).name, x)
    end
    why = why or x
  end
  return nil, why
end

return epilogue

-- SPDX-License-Identifier: Apache-2.0
-- Declaring tensor intrinsics, and scheduling helpers that map blocks to them.
local ts = require "tessera"
local options = require "tessera.lang.options"
local intrin = require "tessera.intrin"
local kit = require "tessera.intrin.kit"
local invalid = debug.getregistry()["tessera.invalid"]
local tensor = {}

-- tensor.mma{ [m =,] n =, k = [, dtype = "float32"] [, acc = dtype]
--             [, trans = false] }: C += A * B of a tile, by vectors.
function tensor.mma(o)
  local list = options.of["tensor.mma"]
  local why = options.refusal("tensor.mma", list, o)
  if why then invalid(why) end
  o = { m = o.m, n = o.n, k = o.k, dtype = o.dtype or "float32",
        acc = o.acc or o.dtype or "float32", trans = o.trans }
  local name = string.format("mma_%s%dx%d_%s_%s%s", o.m and o.m .. "x" or "",
                             o.n, o.k, o.dtype, o.acc, o.trans and "_t" or "")
  return kit.once { name = name, family = "vectors", kind = "llvm",
                    summary = "a product of tiles, by vectors of columns",
                    desc = function() return kit.product(o) end,
                    impl = kit.by_columns }
end

-- The dot products of TVM's x86 intrinsics: 16 rows of four bytes each, with
-- four bytes; unsigned by signed, added to int32.  As the target (a text or a
-- target; nil: this machine) does it best: by VNNI, by AVX-512, or by vectors
-- of columns; the name tells which.
function tensor.dot_16x4(target)
  for _, name in ipairs { "dot_16x4_vnni", "dot_16x4_avx512" } do
    if intrin.has(name, target) then return intrin.use(name) end
  end
  return intrin.use "dot_16x4"
end

-- The names of the intrinsics of tensor cores by wmma, sorted.
function tensor.wmma_names() return intrin.names "wmma" end

-- Declares one of them: all lanes of a warp do together what it describes.
tensor.wmma = intrin.use

-- ---- tiles -----------------------------------------------------------------

-- What an error of the engine says.  Others are not for those who ask what is
-- possible: Lua's own, and Ctrl-C.
local function message_of(e)
  if type(e) ~= "table" then error(e, 0) end
  return e.message
end

-- Splits the loops of a block so that its last iters make up tiles of these
-- sizes (innermost last), moves the tiles inside and gives the outermost loop
-- of them: what tensorize takes.  nil and the reason where a size does not
-- divide an extent.
function tensor.tile(sch, block, sizes)
  local loops = table.pack(sch:get_loops(block))
  local first = #loops - #sizes
  if first < 0 then return nil, "the block has fewer loops" end
  local outer, inner = {}, {}
  for i, size in ipairs(sizes) do
    local ok, a, b = pcall(sch.split, sch, loops[first + i],
                           { ts.auto, size })
    if not ok then return nil, message_of(a) end
    outer[#outer + 1], inner[#inner + 1] = a, b
  end
  for _, l in ipairs(inner) do outer[#outer + 1] = l end
  local ok, e = pcall(sch.reorder, sch, table.unpack(outer))
  if not ok then return nil, message_of(e) end
  return inner[1]
end

-- ---- mapping a block to an intrinsic ---------------------------------------

-- What a block accesses: its iters' kinds and, of each buffer that it reads
-- and does not write, and then of the one that it writes, the dimensions.
local function accesses(sch, block)
  local info = sch:block_info(block)
  if info.writes ~= 1 then return nil, "it writes several buffers" end
  local write = sch:access_info(block, "write", 0)
  local list, reads = {}, {}
  for n = 0, info.reads - 1 do
    local a = sch:access_info(block, "read", n)
    if a.buffer ~= write.buffer then
      list[#list + 1] = a
      reads[#list] = n
    end
    a.used = sch:access(block, "read", n)
  end
  write.used = sch:access(block, "write", 0)
  list[#list + 1] = write
  return { iters = info.iters, list = list, reads = reads }
end

-- Which of the buffers (in the order given) an iter indexes, as a text.
local function signature(x, order, iter)
  local s = { x.iters[iter] }
  for i, n in ipairs(order) do
    s[i + 1] = x.list[n].used[iter] and "1" or "0"
  end
  return table.concat(s, " ")
end

-- Iters of the block for each iter of the description, and the rest, where
-- its k-th buffer is number order[k] of the block's; nil and why not.
local function match(block, desc, order)
  local plain, of, groups, rest = {}, {}, {}, {}
  for k = 1, #order do
    plain[k] = k
    if block.list[order[k]].dtype ~= desc.list[k].dtype then
      return nil, "a buffer has another type"
    end
  end
  for d = 1, #desc.iters do
    local s = signature(desc, plain, d)
    if of[s] then return nil, "two iters of the description look alike" end
    of[s], groups[d] = d, {}
  end
  for i = 1, #block.iters do
    local d = of[signature(block, order, i)]
    local to = d and groups[d] or rest
    to[#to + 1] = i
  end
  for d, g in ipairs(groups) do
    if #g == 0 then
      return nil, "no iter stands for iter " .. d .. " of the description"
    end
  end
  return { groups = groups, rest = rest, order = order }
end

-- All orders of 1 .. n, one after the other, the first one first.
local function orders(n)
  local list = {}
  local function go(done, left)
    if #left == 0 then list[#list + 1] = table.move(done, 1, #done, 1, {}) end
    for i = 1, #left do
      local rest = table.move(left, 1, #left, 1, {})
      done[#done + 1] = table.remove(rest, i)
      go(done, rest)
      done[#done] = nil
    end
  end
  local all = {}
  for i = 1, n do all[i] = i end
  go({}, all)
  return list
end

local function only_block(desc)
  local sch = ts.schedule(desc)
  local blocks = table.pack(sch:get_child_blocks(sch:get_block("root")))
  if #blocks ~= 1 then
    invalid(("an intrinsic is described by one block, not %d"):format(#blocks))
  end
  return sch, blocks[1]
end

-- The description of an intrinsic: given, or of one that is declared here.
local function description(name, desc)
  desc = desc or kit.known(name)
  if not desc then
    invalid("give the description of the tensor intrinsic " ..
            options.quoted(name))
  end
  return desc
end

-- Each group is just the iter that stands there?
local function is_same(from, to)
  local same = #from == #to
  for k, g in ipairs(to) do same = same and #g == 1 and g[1] == from[k] end
  return same
end

-- Iters of a buffer as it is to be indexed: those of the rest that index it,
-- and then the description's, in the order of its dimensions.
local function layout(m, access, dims)
  local list = {}
  for _, i in ipairs(m.rest) do
    if access.used[i] then list[#list + 1] = { i } end
  end
  for _, d in ipairs(dims) do list[#list + 1] = m.groups[d] end
  return list
end

-- How many buffers would have to be copied.
local function count_copies(m)
  local n = 0
  for k, d in ipairs(m.desc.list) do
    local access = m.access.list[m.order[k]]
    if not is_same(access.dims, layout(m, access, d.dims)) then n = n + 1 end
  end
  return n
end

-- tensor.mapping(sch, block, name [, desc]): how the iters of a block can be
-- those of an intrinsic, of which the description is given where it is none of
-- the ready-made ones: they index the same buffers.
-- { groups = { { iters }, ... } for each iter of the description,
--   rest = { iters }, sizes = { extents of the description's iters },
--   copies = how many buffers are indexed otherwise },
-- counted from 1; several iters of a group are to be fused.  Where there are
-- several ways, the one that copies the fewest buffers.  nil and why not.
function tensor.mapping(sch, block, name, desc)
  desc = description(name, desc)
  local there, inside = only_block(desc)
  local a, why = accesses(sch, block)
  local d, bad = accesses(there, inside)
  if not a or not d then return nil, why or bad end
  if #a.list ~= #d.list then
    return nil, "it reads another number of buffers"
  end
  if #a.list > 5 then return nil, "it reads too many buffers" end
  local best, least
  for _, order in ipairs(orders(#a.list - 1)) do
    order[#order + 1] = #a.list
    local m, no = match(a, d, order)
    if m then
      m.access, m.desc = a, d
      local copies = count_copies(m)
      if not best or copies < least then best, least = m, copies end
    end
    why = why or no
  end
  if not best then return nil, why end
  best.copies, best.sizes = least, {}
  for i, l in ipairs{ there:get_loops(inside) } do
    best.sizes[i] = there:extent(l)
  end
  return best
end

-- The iters of a group as one index, in the text of an index map.
local function fused(group, name, extent)
  local e = name[group[1]]
  for k = 2, #group do
    e = ("(%s) * %d + %s"):format(e, extent[group[k]], name[group[k]])
  end
  return e
end

-- "(v1, v2) -> (...)": from these iters, in order, to these groups of them.
local function map_text(from, to, extent)
  local name, params, results = {}, {}, {}
  for k, i in ipairs(from) do
    params[k] = "v" .. k
    if i then name[i] = params[k] end      -- else it has one value only
  end
  for k, g in ipairs(to) do results[k] = fused(g, name, extent) end
  return ("(%s) -> (%s)"):format(table.concat(params, ", "),
                                 table.concat(results, ", "))
end

-- Where a buffer is not indexed so, or `m.copy_all` is set, it becomes a copy
-- that is.
local function lay_out(sch, block, m, where, access, dims, extent)
  local to = layout(m, access, dims)
  if is_same(access.dims, to) and not m.copy_all then return nil end
  local copy = sch:reindex(block, where)
  local from = sch:access_info(block, where[1], where[2]).dims
  if not is_same(from, to) then
    sch:transform_layout(block, where, map_text(from, to, extent))
  end
  return copy
end

-- The block runs over the description's iters, inside of the rest, and its
-- buffers are indexed by them: im2col, where it is a convolution.
local function transform(sch, block, m)
  local extent, all, to = {}, {}, {}
  for i, l in ipairs{ sch:get_loops(block) } do
    extent[i], all[i] = sch:extent(l), i
  end
  local a, d = m.access, m.desc
  local back = lay_out(sch, block, m, { "write", 0 }, a.list[#a.list],
                       d.list[#d.list].dims, extent)
  local copies = {}
  for k = 1, #d.list - 1 do
    local n = m.order[k]
    copies[#copies + 1] = lay_out(sch, block, m, { "read", a.reads[n] },
                                  a.list[n], d.list[k].dims, extent)
  end
  for _, i in ipairs(m.rest) do to[#to + 1] = { i } end
  for _, g in ipairs(m.groups) do to[#to + 1] = g end
  if not is_same(all, to) then
    sch:transform_block_layout(block, map_text(all, to, extent))
  end
  return back, copies
end

-- What the extents lack to multiples of the sizes is padded with what adds
-- nothing, and copies of copies become one.
local function pad(sch, block, sizes)
  local loops, by, needed = { sch:get_loops(block) }, {}, false
  for i, l in ipairs(loops) do
    by[i] = sizes[i - (#loops - #sizes)] or 1
    needed = needed or sch:extent(l) % by[i] ~= 0
  end
  if not needed then return false end
  sch:pad_einsum(block, by)
  return true
end

-- Why no loop's extent can be padded; nil: all are constants.
local function open_loop(sch, block)
  for _, l in ipairs{ sch:get_loops(block) } do
    local info = sch:loop_info(l)
    if not info.extent then
      return ("the extent of loop %s is not a constant"):format(info.name)
    end
  end
end

-- tensor.fit(sch, block, name [, desc [, copy_all]]): makes the block one that
-- the intrinsic can do: buffers indexed as it indexes them (copies, where they
-- are not, or of all with copy_all), extents that are multiples of its own
-- (padded, where they are not) and tiles of its extents inside.  Gives the
-- outermost loop of the tiles, what tensorize takes; nil and the reason where
-- that is not possible, and the schedule may have been changed then: work on a
-- copy.
function tensor.fit(sch, block, name, desc, copy_all)
  local m, why = tensor.mapping(sch, block, name, description(name, desc))
  why = why or open_loop(sch, block)
  if why then return nil, why end
  m.copy_all = copy_all
  local ok, e = pcall(function()
    local back, copies = transform(sch, block, m)
    if not pad(sch, block, m.sizes) then return end
    for _, copy in ipairs(copies) do
      local reader = sch:get_consumers(copy)
      if sch:block_info(reader).name ~= sch:block_info(block).name and
         sch:can("compute_inline", copy) then
        sch:compute_inline(copy)
      end
    end
    if back and sch:can("reverse_compute_inline", back) then
      sch:reverse_compute_inline(back)
    end
  end)
  if not ok then return nil, message_of(e) end
  return tensor.tile(sch, block, m.sizes)
end

-- Of each group of iters the last whose extent is a multiple of the size; nil
-- where there is none.
local function innermost(sch, m, loops)
  local picked = {}
  for d, group in ipairs(m.groups) do
    for _, i in ipairs(group) do
      local extent = sch:extent(loops[i])
      if extent and extent % m.sizes[d] == 0 then picked[d] = i end
    end
    if not picked[d] then return nil end
  end
  return picked
end

-- tensor.inner(sch, block, name [, desc]): tiles of the intrinsic's extents of
-- one iter for each of the description's, the innermost of those that index
-- the same buffers, so that a blocked layout, as W[oc // 16, ic, oc % 16], is
-- read as it lies.  Gives the outermost loop of the tiles; nil and the reason
-- where there are none.  Whether the intrinsic does them, tensorize finds out.
function tensor.inner(sch, block, name, desc)
  local m, why = tensor.mapping(sch, block, name, description(name, desc))
  if not m then return nil, why end
  local order, tile = { sch:get_loops(block) }, {}
  local picked = innermost(sch, m, order)
  if not picked then return nil, "no extents are multiples of its own" end
  for d, i in ipairs(picked) do
    order[i], tile[d] = sch:split(order[i], { ts.auto, m.sizes[d] })
  end
  sch:reorder(table.move(tile, 1, #tile, #order + 1, order))
  return tile[1]
end

-- tensor.auto(sch, block, name [, desc]): fits a block to an intrinsic,
-- decomposes its reduction and tensorizes it.  true; nil and why not.
function tensor.auto(sch, block, name, desc)
  local first, why = tensor.fit(sch, block, name, description(name, desc))
  if not first then return nil, why end
  local kinds = sch:block_info(block).iters
  for i, l in ipairs{ sch:get_loops(block) } do
    if kinds[i] == "reduce" then
      sch:decompose_reduction(block, l)
      break
    end
  end
  sch:tensorize(first, name)
  return true
end

return tensor

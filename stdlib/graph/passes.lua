-- SPDX-License-Identifier: Apache-2.0
-- The passes over graphs, in their order: each { name, what it does, run }.
local category = require "tessera.graph.categories"

local passes = {}

local fold = require "tessera.graph.fold"
local simplify = require "tessera.graph.simplify"

passes.list = {
  { name = "integers",
    help = "what dequantized bytes go into computes with the bytes",
    run = require "tessera.graph.integers" },
  { name = "fold", help = "nodes of constants become constants", run = fold },
  { name = "simplify", help = "what changes nothing goes, chains become one",
    run = simplify },
  { name = "sink_transposes",
    help = "transposes go behind operators element by element",
    run = require "tessera.graph.transposes" },
  { name = "simplify_again", help = "transposes that meet cancel",
    run = simplify },
  { name = "normalize", help = "norms that were written out are one node",
    run = require "tessera.graph.norms" },
  { name = "into_convolutions",
    help = "batch norms, scales, shifts and borders go into convolutions",
    run = require "tessera.graph.convolutions" },
  { name = "join_products",
    help = "products of one value with several matrices become one",
    run = require "tessera.graph.joined" },
  { name = "layout", help = "images take channels in blocks of a vector",
    run = require "tessera.graph.layout" },
  { name = "fold_again", help = "what these made of constants", run = fold },
  { name = "simplify_last", help = "what stays of them", run = simplify },
  { name = "fuse", help = "nodes become groups, each one program",
    run = function(g)
      local list = {}
      for i, n in ipairs(g:nodes()) do list[i] = category.of(n.op) end
      g:fuse_nodes(list)
    end },
}

-- Runs all of them; o.after(name, g) is called after each, and those named in
-- the set o.without are left out.
function passes.run(g, o)
  local without = o.without or {}
  g:sweep()
  for _, pass in ipairs(passes.list) do
    if not without[pass.name] then
      pass.run(g, o)
      g:sweep()
      g:verify()
    end
    if o.after then o.after(pass.name, g) end
  end
end

return passes

-- The same sketch has the same bytes on every Lua, and each loads what the others saved.

local files = require "spec.support.files"
local kinds = require "spec.support.kinds"
local process = require "spec.support.process"

local common = [[
  local ps, kinds, files = require "probsketch", require "spec.support.kinds", require "spec.support.files"
  local numbers = { 0, -0.0, 42, -42, 2 ^ 31, -2 ^ 31, 2 ^ 32, 2 ^ 53, -2 ^ 53, 1e15 }
  local function text(answers)
    for i, answer in ipairs(answers) do
      answers[i] = type(answer) == "number" and ("%.17g"):format(answer) or tostring(answer)
    end
    return table.concat(answers, " ")
  end
  -- Calls f(kind, form, base) for every form; base is the beginning of its files' names in the directory.
  local function each(directory, f)
    local i = 0
    for _, kind in ipairs(kinds) do
      for _, form in ipairs(kind.forms) do
        i = i + 1
        f(kind, form, ("%s/%d."):format(directory, i))
      end
    end
  end
]]

-- Writes the encoded form, the saved file and the answers of every form.
local build = common .. [[
  each(arg[1], function(kind, form, base)
    local items = kind.items(1, form.items)
    if kind.key then
      for byte = 0, 255 do
        items[#items + 1] = string.char(byte)
      end
      for _, number in ipairs(numbers) do
        items[#items + 1] = number
      end
    end
    local sketch = kind.fill_with(form.empty(), items)
    files.write(base .. "bytes", sketch:encode())
    files.write(base .. "answers", text(kind.answers(sketch)))
    assert(sketch:save(base .. "file"))
  end)
]]

-- Holds what build wrote into each directory against what is loaded from there.
local check = common .. [[
  local function keeps(kind, sketch, bytes, answers)
    assert(sketch:kind() == kind.name)
    assert(sketch:encode() == bytes, "other bytes")
    assert(text(kind.answers(sketch)) == answers, "other answers")
    if sketch.has then
      for byte = 0, 255 do
        assert(sketch:has(string.char(byte)))
      end
      for _, number in ipairs(numbers) do
        assert(sketch:has(number) and sketch:has(number == 0 and "0" or ("%.0f"):format(number)))
      end
    end
  end
  for _, directory in ipairs(arg) do
    each(directory, function(kind, _, base)
      local bytes, answers = files.read(base .. "bytes"), files.read(base .. "answers")
      keeps(kind, assert(ps.load(base .. "file")), bytes, answers)
      keeps(kind, assert(ps.load(base .. "bytes")), bytes, answers)
      keeps(kind, assert(ps.decode(bytes)), bytes, answers)
    end)
  end
]]

describe("on every Lua that is installed and built for", function()
  local interpreters, missing = process.interpreters()
  local names, directories, root = {}, {}, nil
  for name in pairs(interpreters) do
    names[#names + 1] = name
  end
  table.sort(names)

  setup(function()
    root = files.directory()
    files.write(root .. "/build.lua", build)
    files.write(root .. "/check.lua", check)
    for i, name in ipairs(names) do
      directories[i] = root .. "/" .. name
      process.shell("mkdir " .. files.quoted(directories[i]))
      local output, status = process.shell(("%s %s %s"):format(interpreters[name], files.quoted(root .. "/build.lua"),
        files.quoted(directories[i])))
      assert(status == 0, output)
    end
  end)
  teardown(function()
    files.remove(root)
  end)

  it("the same input gives the same bytes, the same file and the same answers", function()
    local wanted = files.list(directories[1])
    assert.is_true(#wanted >= 3 * #kinds)
    for i = 2, #names do
      assert.same(wanted, files.list(directories[i]))
      for _, file in ipairs(wanted) do
        if files.read(directories[1] .. "/" .. file) ~= files.read(directories[i] .. "/" .. file) then
          error(("%s differs between %s and %s"):format(file, names[1], names[i]))
        end
      end
    end
  end)

  for _, name in ipairs(names) do
    it(name .. " loads what all of them saved and answers as they did", function()
      local quoted = {}
      for i, directory in ipairs(directories) do
        quoted[i] = files.quoted(directory)
      end
      local output, status = process.shell(("%s %s %s"):format(interpreters[name], files.quoted(root .. "/check.lua"),
        table.concat(quoted, " ")))
      assert.equal(0, status, output)
    end)
  end

  for _, name in ipairs(missing) do
    pending(name .. " loads what all of them saved and answers as they did")
  end
end)

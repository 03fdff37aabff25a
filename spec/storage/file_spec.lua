-- Files are saved whole or not at all, and whatever cannot be loaded is refused.

local ps = require "probsketch"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local kinds = require "spec.support.kinds"
local process = require "spec.support.process"

local quoted = files.quoted
local permitted = process.bound() and it or pending

local directory
before_each(function()
  directory = files.directory()
end)
after_each(function()
  process.shell("chmod -R u+rwx " .. quoted(directory))
  files.remove(directory)
end)

local function sketch(n)
  return kinds[1].fill(kinds[1].new(), 1, n or 50)
end

-- The message has the reason that the system gives for not opening the path, however long the path.
local function says_why(message, path)
  local _, problem = io.open(path)
  local reason = problem:sub(#path + 1)
  assert.is_truthy(#reason > 5 and message:find(reason, 1, true), message)
  if #path < 100 then
    assert.is_truthy(message:find(path, 1, true), message)
  end
end

describe("save", function()
  it("says true and leaves nothing beside the file", function()
    local path = directory .. "/sketch"
    assert.is_true(sketch():save(path))
    assert.equal(1, select("#", sketch():save(path)))
    assert.same({ "sketch" }, files.list(directory))
  end)

  it("replaces what was there", function()
    local path = directory .. "/sketch"
    files.write(path, ("x"):rep(100000))
    assert(sketch(10):save(path))
    assert.equal(sketch(10), ps.load(path))
    assert(sketch(20):save(path))
    assert.equal(sketch(20), ps.load(path))
    assert.same({ "sketch" }, files.list(directory))
  end)

  it("leaves a file that somebody has open as that one saw it", function()
    local path = directory .. "/sketch"
    assert(sketch(10):save(path))
    local before = files.read(path)
    local file = assert(io.open(path, "rb"))
    assert(sketch(20):save(path))
    expect.same_bytes(before, file:read "*a")
    file:close()
  end)

  it("takes any name that a file may have", function()
    for _, name in ipairs { "a b", "it's", "-n", "%s%n", "\195\188", "\1\255", "x.tmp", "*", ("x"):rep(255) } do
      assert(sketch():save(directory .. "/" .. name))
      assert.equal(sketch(), ps.load(directory .. "/" .. name))
      assert.same({ name }, files.list(directory))
      assert(os.remove(directory .. "/" .. name))
    end
  end)

  it("takes a name in the working directory", function()
    local here = process.shell "pwd":gsub("\n", "")
    local function absolute(templates)
      return quoted((templates:gsub("[^;]+", function(template)
        return template:find "^/" and template or here .. "/" .. template
      end)))
    end
    files.write(directory .. "/script.lua", [[
      local ps = require "probsketch"
      local sketch = ps.bloom { capacity = 10 }
      assert(sketch:save "sketch")
      assert(ps.load "sketch" == sketch)
    ]])
    local output, status = process.shell(("cd %s && LUA_PATH=%s LUA_CPATH=%s %s"):format(quoted(directory),
      absolute(package.path), absolute(package.cpath), process.command(process.interpreter, "script.lua")))
    assert.equal(0, status, output)
    assert.same({ "script.lua", "sketch" }, files.list(directory))
  end)

  it("gives new files the permissions that the user gives them, and lets no others write to them", function()
    local script = directory .. "/script.lua"
    files.write(script, [[
      local ps, path = require "probsketch", ...
      local sketch = ps.bloom { capacity = 10 }
      assert(sketch:save(path .. ".saved"))
      assert(ps.share(path .. ".shared", sketch))
    ]])
    for umask, mode in pairs { ["000"] = "664", ["022"] = "644", ["077"] = "600" } do
      local path = directory .. "/with" .. umask
      local _, status = process.shell(("umask %s; %s"):format(umask,
        process.command(process.interpreter, script, path)))
      assert.equal(0, status)
      for _, made in ipairs { path .. ".saved", path .. ".shared" } do
        local found = process.shell("stat -c %a " .. quoted(made) .. " || stat -f %Lp " .. quoted(made))
        assert.equal(mode .. "\n", found)
      end
    end
  end)

  it("refuses a path that leads nowhere, and leaves no file behind", function()
    files.write(directory .. "/file", "")
    process.shell(("ln -s loop %s/loop"):format(quoted(directory)))
    for _, path in ipairs { "/missing/sketch", "/file/sketch", "/" .. ("x"):rep(300), "/" .. ("x/"):rep(3000),
      "/loop/sketch" } do
      local message = expect.refusal("io", sketch():save(directory .. path))
      says_why(message, directory .. path)
    end
    assert.same({ "file", "loop" }, files.list(directory))
  end)

  it("refuses a path where a directory is, and leaves no file behind", function()
    process.shell("mkdir " .. quoted(directory .. "/sub"))
    for _, path in ipairs { "/sub", "/sub/", "/sub/.", "/." } do
      expect.refusal("io", sketch():save(directory .. path))
    end
    assert.same({ "sub" }, files.list(directory))
    assert.same({}, files.list(directory .. "/sub"))
  end)

  it("does not replace what is no regular file", function()
    local path = directory .. "/fifo"
    process.shell("mkfifo " .. quoted(path))
    expect.refusal("io", sketch():save(path))
    assert.same({ "fifo" }, files.list(directory))
    local _, status = process.shell("test -p " .. quoted(path))
    assert.equal(0, status)
  end)

  permitted("refuses a directory that may not be written", function()
    process.shell("chmod a-w " .. quoted(directory))
    assert.equal(("nil\t%s/sketch: Permission denied\tio\n"):format(directory),
      process.try_bound("print(require 'probsketch'.hll():save((...)))", directory .. "/sketch"))
    assert.same({}, files.list(directory))
  end)

  -- A limit on the size of files fails a write as a full disk does, halfway.
  it("leaves the old file and no other when the disk is full", function()
    local path = directory .. "/sketch"
    assert(sketch(10):save(path))
    local script = directory .. "/script.lua"
    files.write(script, [[
      local large = require "probsketch".bloom { bits = 8e6, hashes = 3 }
      print(large:save((...)))
    ]])
    local output, status = process.shell(("trap '' XFSZ; ulimit -f 200; %s"):format(
      process.command(process.interpreter, script, path)))
    assert.equal(0, status)
    assert.is_truthy(output:find "^nil\t.*\tio\n", output)
    assert.is_truthy(output:find(path, 1, true), output)
    assert(os.remove(script))
    assert.equal(sketch(10), ps.load(path))
    assert.same({ "sketch" }, files.list(directory))
  end)

  it("raises for what is no path", function()
    for _, bad in ipairs { "", "a\0b", directory .. "/sketch\0", "\0", 5, true, {}, print, io.stdout } do
      expect.raise(sketch().save, sketch(), bad)
      expect.raise(ps.load, bad)
    end
    expect.raise(sketch().save, sketch())
    expect.raise(ps.load)
    assert.same({}, files.list(directory))
  end)
end)

describe("load", function()
  local path
  before_each(function()
    path = directory .. "/sketch"
  end)

  it("refuses a file that is not there, and names it", function()
    for _, name in ipairs { "/missing", "/missing/sketch", "/" .. ("x"):rep(300) } do
      says_why(expect.refusal("io", ps.load(directory .. name)), directory .. name)
    end
  end)

  it("refuses a directory, a fifo without a writer and a device, at once", function()
    process.shell("mkfifo " .. quoted(path))
    for _, bad in ipairs { directory, directory .. "/", path, "/dev/null", "/dev/zero" } do
      local message = expect.refusal("io", ps.load(bad))
      assert.is_truthy(message:find(bad, 1, true), message)
    end
  end)

  permitted("refuses a file that may not be read", function()
    assert(sketch():save(path))
    process.shell("chmod a-r " .. quoted(path))
    assert.equal(("nil\t%s: Permission denied\tio\n"):format(path),
      process.try_bound("print(require 'probsketch'.load((...)))", path))
  end)

  it("refuses an empty file and whatever is no sketch", function()
    files.write(path, "")
    expect.refusal("truncated", ps.load(path))
    for _, text in ipairs { "x", "a line\n", ("\0"):rep(10000), "\31\139\8" } do
      files.write(path, text)
      expect.refusal("magic", ps.load(path))
    end
  end)

  it("follows a link", function()
    assert(sketch():save(path))
    process.shell(("ln -s sketch %s/link"):format(quoted(directory)))
    assert.equal(sketch(), ps.load(directory .. "/link"))
  end)

  it("leaves no file open, whatever comes of it", function()
    if process.shell "ls /proc/self/fd" == "" then
      return
    end
    assert(sketch():save(path))
    files.write(directory .. "/bad", "x")
    local output = process.run([[
      local ps, directory = require "probsketch", ...
      local function open_files() -- once popen() here has closed the other end of its pipe
        local pipe = io.popen "sleep 0.1; ls /proc/$PPID/fd | wc -l"
        local n = pipe:read "*n"
        pipe:close()
        return n
      end
      local before = open_files()
      local sketch = ps.load(directory .. "/sketch")
      for _ = 1, 50 do
        ps.load(directory .. "/sketch")
        ps.load(directory .. "/bad")
        ps.load(directory .. "/missing")
        ps.load(directory)
        sketch:save(directory .. "/again")
        sketch:save(directory)
      end
      print(open_files() - before)
    ]], directory)
    assert.equal("0\n", output)
  end)
end)

kinds.describe_forms(describe, function(form)
  it("is refused from a file that was cut short or damaged as from a string, and the file stays as it was", function()
    local path = directory .. "/sketch"
    assert(form.filled():save(path))
    local whole = files.read(path)
    for length = 0, #whole - 1, 61 do
      files.write(path, whole:sub(1, length))
      expect.refusal("truncated", ps.load(path))
    end
    files.write(path, whole .. "\0")
    expect.refusal("corrupt", ps.load(path))
    for at = 1, #whole, 53 do
      local damaged = envelope.flipped(whole, at, at % 8)
      files.write(path, damaged)
      local _, message, code = ps.decode(damaged)
      local _, file_message, file_code = ps.load(path)
      assert.equal(code, file_code)
      assert.equal(path .. ": " .. message, file_message)
      expect.refusal(nil, ps.load(path))
      assert.equal(damaged, files.read(path))
    end
    for _, at in ipairs { #whole, #whole - 7, #whole - 8 } do -- trailer and payload
      files.write(path, envelope.flipped(whole, at, 0))
      expect.refusal("checksum", ps.load(path))
    end
  end)
end)

-- A debug session as nvim-dap has it, in nvim's own Lua: the same requests with the same arguments in the same order, and
-- the same way to end the adapter. What happens is printed, a line each, for test_editors.py.
--
-- nvim --headless -u NONE -l nvim.lua RAYDBG TASK FILE LINE, and the line that FILE's breakpoint is at

local binary, task, file, line = arg[1], arg[2], arg[3], tonumber(arg[4])
local uv = vim.uv
local LIMIT_MS = 60000

local function say(...)
	io.stdout:write(table.concat(vim.tbl_map(tostring, { ... }), ' '), '\n')
	io.stdout:flush()
end

local function fail(...)
	say('FAIL', ...)
	os.exit(1)
end

-- The adapter: a process that nvim-dap starts detached, with pipes.

local stdin, stdout, stderr = uv.new_pipe(false), uv.new_pipe(false), uv.new_pipe(false)
local exit_code
local handle = uv.spawn(binary, { args = { 'dap' }, stdio = { stdin, stdout, stderr }, detached = true, hide = true },
	function(code) exit_code = code end)
if not handle then fail('the adapter cannot be started') end

local seq, waiting, events, input = 1, {}, {}, ''

local function take_message()
	local head, body_at = input:match('^Content%-Length: (%d+)\r\n\r\n()')
	if not head or #input < body_at - 1 + tonumber(head) then return nil end
	local body = input:sub(body_at, body_at - 1 + tonumber(head))
	input = input:sub(body_at + tonumber(head))
	return vim.json.decode(body, { luanil = { object = true } })
end

stdout:read_start(function(problem, chunk)
	assert(not problem, problem)
	input = input .. (chunk or '')
	for message in take_message do
		if message.type == 'response' then
			waiting[message.request_seq] = message
		elseif message.type == 'event' then
			table.insert(events, message)
		end
	end
end)
stderr:read_start(function(_, chunk)
	if chunk then say('STDERR', (chunk:gsub('%s+$', ''))) end
end)

local function wait(find, what)
	local found
	if not vim.wait(LIMIT_MS, function()
		found = find()
		return found ~= nil
	end, 5) then fail(what, 'did not come') end
	return found
end

local function send(command, arguments)
	local payload = vim.json.encode({ seq = seq, type = 'request', command = command, arguments = arguments })
	stdin:write(('Content-Length: %d\r\n\r\n%s'):format(#payload, payload))
	seq = seq + 1
	return seq - 1
end

local function answer_to(sent, command)
	local response = wait(function() return waiting[sent] end, 'the answer to ' .. command)
	if not response.success then fail(command, response.message) end
	return response.body or {}
end

local function request(command, arguments) return answer_to(send(command, arguments), command) end

local function event(name)
	return wait(function()
		for index, message in ipairs(events) do
			if message.event == name then return table.remove(events, index) end
		end
	end, name).body or {}
end

-- nvim-dap sends a buffer's breakpoints with their lines twice.
local function set_breakpoints(lines)
	local body = request('setBreakpoints', {
		source = { path = file, name = vim.fn.fnamemodify(file, ':t') },
		sourceModified = false,
		breakpoints = vim.tbl_map(function(at) return { line = at } end, lines),
		lines = lines,
	})
	for _, breakpoint in ipairs(body.breakpoints) do say('breakpoint', breakpoint.line, breakpoint.verified) end
end

-- After each stop: threads, the whole stack, the scopes of the top frame and the variables of those that are cheap.
local function stopped()
	local stop = event('stopped')
	local threads = request('threads').threads
	local frames = request('stackTrace', { startFrame = 0, threadId = stop.threadId }).stackFrames
	local top = frames[1]
	say('stopped', stop.reason, top.name, vim.fs.basename(top.source.path), top.line, 'of', #threads > 0)
	for _, scope in ipairs(request('scopes', { frameId = top.id }).scopes) do
		if not scope.expensive then
			for _, variable in ipairs(request('variables', { variablesReference = scope.variablesReference }).variables) do
				say('variable', scope.name, variable.name, variable.value)
			end
		end
	end
	return stop.threadId, top
end

-- The session.

local capabilities = request('initialize', {
	clientID = 'neovim', clientName = 'neovim', adapterID = 'nvim-dap', pathFormat = 'path',
	columnsStartAt1 = true, linesStartAt1 = true, supportsRunInTerminalRequest = true, supportsVariableType = true,
	supportsProgressReporting = true, supportsStartDebuggingRequest = true, locale = os.getenv('LANG') or 'en_US',
})
-- The whole configuration is the arguments.
local attach = send('attach', { type = 'raydbg', request = 'attach', name = 'Ray task', task = task })
event('initialized')
set_breakpoints({ line })
local filters = {}
for _, filter in ipairs(capabilities.exceptionBreakpointFilters) do
	if filter.default then table.insert(filters, filter.filter) end
end
request('setExceptionBreakpoints', { filters = filters })
request('configurationDone')
answer_to(attach, 'attach')

local thread, top = stopped()
say('evaluate', request('evaluate', { expression = 'number + 1', context = 'repl', frameId = top.id }).result)
request('next', { threadId = thread, granularity = 'statement' })
thread = stopped()
request('continue', { threadId = thread })
thread = stopped()
set_breakpoints({})
request('continue', { threadId = thread })

-- nvim-dap waits 3 s for the answer, closes stdin, and interrupts the adapter at once.
local began = uv.hrtime()
request('disconnect', { restart = false })
if uv.hrtime() - began > 3e9 then fail('disconnect took too long') end
stdin:close()
if not handle:is_closing() then handle:kill('sigint') end
wait(function() return exit_code end, "the adapter's end")
say('exit', exit_code)
os.exit(0)

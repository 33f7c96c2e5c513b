# fish completion for raydbg; put it into ~/.config/fish/completions.

function __raydbg_tasks
    raydbg list --format json 2>/dev/null | sed -nE 's/.*"task_id": "([0-9a-f]{12})[^"]*", "task_name": "([^"]*)".*/\1\t\2/p'
end

complete -c raydbg -f
complete -c raydbg -n __fish_use_subcommand -a list -d 'show every paused task of the cluster'
complete -c raydbg -n __fish_use_subcommand -a attach -d 'debug a paused task in this terminal'
complete -c raydbg -n __fish_use_subcommand -a dap -d 'speak DAP on stdin and stdout'
complete -c raydbg -n __fish_use_subcommand -a hold -d 'have the relay keep a paused task'
complete -c raydbg -n __fish_use_subcommand -a release -d 'let tasks go on that the relay holds'
complete -c raydbg -n __fish_use_subcommand -a help -d 'show the help'
complete -c raydbg -n __fish_use_subcommand -a version -d 'show the version'
complete -c raydbg -n '__fish_seen_subcommand_from attach dap hold release' -a '(__raydbg_tasks)'
complete -c raydbg -n '__fish_seen_subcommand_from list attach dap hold release' -l address -x -d 'the cluster'
complete -c raydbg -n '__fish_seen_subcommand_from attach dap' -l connect -x -d 'a debugpy adapter, HOST:PORT'
complete -c raydbg -n '__fish_seen_subcommand_from attach dap' -l no-tune -d 'leave the worker alone'
complete -c raydbg -n '__fish_seen_subcommand_from attach dap' -l kill -d 'end the worker at the end'
complete -c raydbg -n '__fish_seen_subcommand_from attach' -s e -l command -x -d 'run this'
complete -c raydbg -n '__fish_seen_subcommand_from attach' -l strict -d 'stop at the first failure'
complete -c raydbg -n '__fish_seen_subcommand_from attach' -l echo -d 'print the commands'
complete -c raydbg -n '__fish_seen_subcommand_from attach' -l map -x -d 'REMOTE=LOCAL'
complete -c raydbg -n '__fish_seen_subcommand_from list' -l all -d 'idle workers too'
complete -c raydbg -n '__fish_seen_subcommand_from list' -l watch -d 'go on'
complete -c raydbg -n '__fish_seen_subcommand_from list' -l format -xa 'table json yaml'
complete -c raydbg -n '__fish_seen_subcommand_from list' -l sort -xa 'node age name state job pid'
complete -c raydbg -n '__fish_seen_subcommand_from list' -l state -xa 'waiting attached held idle'
complete -c raydbg -n '__fish_seen_subcommand_from list' -l job -l node -l actor -x
complete -c raydbg -n '__fish_seen_subcommand_from list attach dap hold release' -l relay -x -d 'where the relay is'
complete -c raydbg -n '__fish_seen_subcommand_from list attach dap hold release' -l no-relay -d 'go without a relay'
complete -c raydbg -n '__fish_seen_subcommand_from list attach dap hold release' -l relay-fingerprint -x -d 'the certificate to trust'
complete -c raydbg -n '__fish_seen_subcommand_from list attach dap hold release' -l relay-token-file -l relay-ca -l relay-cert -l relay-key -r
complete -c raydbg -n '__fish_seen_subcommand_from attach' -l observe -d 'look only'
complete -c raydbg -n '__fish_seen_subcommand_from attach' -l take-over -d 'drive'
complete -c raydbg -n '__fish_seen_subcommand_from attach' -l let-go -d 'let the task go on at the end'
complete -c raydbg -n '__fish_seen_subcommand_from release' -l all -d 'all that are held'
complete -c raydbg -n '__fish_seen_subcommand_from hold release' -l format -xa 'table json'

# bash completion for raydbg; source it, or put it into a bash-completion directory.

_raydbg_tasks() {
	raydbg list --format json 2>/dev/null |
		sed -nE 's/.*"task_id": "([0-9a-f]{12})[^"]*", "task_name": "([^"]*)".*/\1 \2/p' | tr ' ' '\n'
}

_raydbg() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
	local relay='--relay --no-relay --relay-token-file --relay-ca --relay-fingerprint --relay-cert --relay-key'
	case $before in
	--format | -f)
		words='table json yaml'
		[ "${COMP_WORDS[1]}" != memory ] || words+=' csv'
		[[ ${COMP_WORDS[1]} != doctor && ${COMP_WORDS[1]} != attach ]] || words='text json'
		;;
	--diff)
		mapfile -t COMPREPLY < <(compgen -W '10s 60s 10m' -- "$word"; compgen -f -- "$word")
		return
		;;
	--sort) words='node age name state job pid' ;;
	--group-by | -g) words='node call-site owner task actor job' ;;
	--sort-by | -s) words='size refs pid age' ;;
	--units | -u) words='auto B KB MB GB' ;;
	--hold) words='on-attach on-pause never' ;;
	--token) words='none' ;;
	--state) words='waiting attached held idle' ;;
	*)
		case ${COMP_WORDS[1]} in
		doctor) words="--address --format --help $relay" ;;
		list) words="--address --all --job --node --actor --state --sort --watch --format --help $relay" ;;
		memory)
			words="--address --diff --filter --format --group-by --locations --num-entries --sort-by --stats-only --task --top --units --why-full --help $relay"
			;;
		attach)
			words="--actor --address --all --command --connect --echo --format --job --kill --let-go --map --no-tune --node --observe --quiet --strict --take-over --help $relay"
			[[ $word == -* ]] || words=$(_raydbg_tasks)
			;;
		debug) words="--address --verbose --help $relay" ;;
		dap)
			words="--address --connect --kill --no-ahead --no-tune --help $relay"
			[[ $word == -* ]] || words=$(_raydbg_tasks)
			;;
		relay)
			words='--address --allow-connect --allow-host --allow-origin --audit-log --help --hold --kill --listen --make-cert --make-observer-token --max-body --max-header --max-hold --max-per-address --max-sessions --name --no-tune --observer-token-file --target --tls-cert --tls-client-ca --tls-key --token --token-file --upgrade'
			;;
		hold | continue | release)
			words="--address --format --help $relay"
			[ "${COMP_WORDS[1]}" != release ] || words+=' --all'
			[[ $word == -* ]] || words=$(_raydbg_tasks)
			;;
		sessions) words="--address --format --help $relay" ;;
		esac
		;;
	esac
	[ "$COMP_CWORD" -gt 1 ] || words='list memory attach debug dap relay hold continue release sessions doctor help version'
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _raydbg raydbg

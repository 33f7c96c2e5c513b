# Debian's packages by the lock: for the sysroot and for the container image. Sourced by the scripts beside it, in the root of
# the checkout, with $cache set, and $strict where a difference from the lock is an error.
lock=$PWD/cmake/portable.lock release=bookworm
renew='to renew the lock: tools/portable --lock, then build, test and commit cmake/portable.lock'

# All that the static link needs but glibc, and what Debian has no usable archive of.
packages=(libgrpc-dev libabsl-dev libc-ares-dev libre2-dev libprotobuf-c-dev libcap-dev libedit-dev libbsd-dev libmd-dev
	libncurses-dev libssl-dev zlib1g-dev libstdc++-12-dev libgcc-12-dev libuv1-dev libcjson-dev
	libre2-9 libtinfo6 gcc-12-base) # the last three have the notices of libre2-dev, ncurses and gcc's libraries
sources=(cjson libwebsockets)
# What the program needs where there is no distribution around it: glibc, and certificates.
runtime=(libc6 ca-certificates)

say() { printf 'portable: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
sha() { sha256sum "$1" | cut -d ' ' -f 1; }
# A set is what a line of the lock begins with: an architecture, runtime-ARCHITECTURE, or source.
locked() { awk -v set="$1" '$1 == set { print $2, $3, $4 }' "$lock"; } # SET: NAME VERSION SHA256

debian_arch() {
	case ${1#runtime-} in
	x86_64) echo amd64 ;;
	aarch64) echo arm64 ;;
	*) die "$1: the architectures are x86_64 and aarch64" ;;
	esac
}

# --- Debian's packages ---

mirrors() { # the lines of a sources.list: the system's own mirrors of Debian, whatever release the system is
	local uri signed='' keys=/usr/share/keyrings/debian-archive-keyring.gpg
	[ ! -e $keys ] || signed="[signed-by=$keys] "
	if [ -n "${RAYDBG_DEBIAN_MIRROR-}" ]; then
		printf '%s\n' "$RAYDBG_DEBIAN_MIRROR" "${RAYDBG_DEBIAN_MIRROR%/}-security"
	else
		env -u APT_CONFIG apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages'
	fi | sed 's|/*$||' | sort -u | while read -r uri; do
		case $uri in
		*-security) printf '%s\n' "deb $signed$uri $release-security main" "deb-src $signed$uri $release-security main" ;;
		*/debian) printf '%s\n' "deb $signed$uri $release main" "deb-src $signed$uri $release main" ;;
		esac
	done
}

# An apt that knows nothing of what is installed here and changes nothing but its own directory.
make_apt() { # ARCH
	local dir=$cache/apt-$1
	command -v apt-get >/dev/null || die "the sysroot is made of Debian's packages, and there is no apt-get here"
	mkdir -p "$dir"/{lists,archives}/partial "$dir/none"
	mirrors >"$dir/sources.list"
	[ -s "$dir/sources.list" ] || die "apt knows no mirror of Debian here: name one in RAYDBG_DEBIAN_MIRROR"
	cat >"$dir/apt.conf" <<-EOF
		APT::Architecture "$(debian_arch "$1")";
		APT::Architectures { "$(debian_arch "$1")"; };
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Dir::Cache "$dir";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "$dir/none";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "$dir/none";
		Dir::State::lists "$dir/lists";
		Dir::State::status "/dev/null";
	EOF
	APT_CONFIG=$dir/apt.conf apt-get -qq update >&2
}

apt_updated=''
apt_update() { # SET: once, and sets `apt`, the architecture whose apt knows the SET
	apt=${1#runtime-}
	[ "$apt" != source ] || apt=x86_64
	[[ " $apt_updated " != *" $apt "* ]] || return 0
	make_apt "$apt"
	apt_updated+=" $apt"
}

apt_fetch() { # SET NAME[=VERSION]...: into cache/packages
	local what=(download)
	[ "$1" != source ] || what=(source --download-only)
	apt_update "$1"
	shift
	(cd "$cache/packages" && APT_CONFIG=$cache/apt-$apt/apt.conf apt-get -qq "${what[@]}" "$@") >&2
}

candidate() { # SET NAME: the version that the mirror has, after an apt_update for that SET
	if [ "$1" = source ]; then
		APT_CONFIG=$cache/apt-x86_64/apt.conf apt-cache showsrc --only-source "$2" | sed -n 's/^Version: //p' | sort -V | tail -1
	else
		APT_CONFIG=$cache/apt-${1#runtime-}/apt.conf apt-cache policy "$2" | sed -n 's/^ *Candidate: //p'
	fi
}

file_of() { # SET NAME VERSION: what apt-get names the package's file, or the source's description
	local stem=$cache/packages/$2_${3/:/%3a}
	if [ "$1" = source ]; then echo "$cache/packages/$2_${3#*:}.dsc"
	elif [ -f "${stem}_all.deb" ]; then echo "${stem}_all.deb"
	else echo "${stem}_$(debian_arch "$1").deb"
	fi
}

is_there() { # SET NAME VERSION SHA256
	local file
	file=$(file_of "$1" "$2" "$3")
	[ -f "$file" ] && [ "$(sha "$file")" = "$4" ]
}

fetch_locked() { # SET: whatever of the lock is not in the cache; what the mirror no longer has is left out
	local name version hash wanted=() one
	while read -r name version hash; do
		is_there "$1" "$name" "$version" "$hash" && continue
		rm -f "$(file_of "$1" "$name" "$version")"
		wanted+=("$name=$version")
	done < <(locked "$1")
	[ ${#wanted[@]} -gt 0 ] || return 0
	say "fetching ${#wanted[@]} packages for $1"
	apt_fetch "$1" "${wanted[@]}" 2>/dev/null && return
	for one in "${wanted[@]}"; do apt_fetch "$1" "$one" || true; done
}

# The versions to use, those of the lock unless the mirror no longer has them.
resolve() { # SET: prints NAME VERSION SHA256
	local name version hash found
	fetch_locked "$1"
	while read -r name version hash; do
		if is_there "$1" "$name" "$version" "$hash"; then
			echo "$name $version $hash"
			continue
		fi
		apt_fetch "$1" "$name"
		found=$(candidate "$1" "$name")
		hash=$(sha "$(file_of "$1" "$name" "$found")")
		say "$name for $1: the lock has $version, the mirror $found ($hash)"
		if [ -n "$strict" ]; then die "$renew"; fi
		say "warning: building with that; $renew"
		echo "$name $found $hash"
	done < <(locked "$1")
}

# --- the lock ---

offers() { # SET NAME...: NAME VERSION SHA256 of each that the mirror has now, after an apt_update for that SET
	local set=$1
	shift
	if [ "$set" = source ]; then
		APT_CONFIG=$cache/apt-$apt/apt.conf apt-cache showsrc --only-source "$@" | awk '
			/^Package:/ { name = $2 }
			/^Version:/ { version = $2 }
			/^[^ ]/ { sums = /^Checksums-Sha256:/ }
			sums && /\.dsc$/ { print name, version, $1 }' | sort -k 1,1 -k 2,2V
	else
		APT_CONFIG=$cache/apt-$apt/apt.conf apt-cache show --no-all-versions "$@" | awk '
			/^Package:/ { name = $2 }
			/^Version:/ { version = $2 }
			/^SHA256:/ { print name, version, $2 }'
	fi
}

mirrored() { # prints the lines of a lock: what the mirror has now
	local set name names offered line
	for set in x86_64 aarch64 source runtime-x86_64 runtime-aarch64; do
		case $set in
		runtime-*) names=("${runtime[@]}") ;;
		source) names=("${sources[@]}") ;;
		*) names=("${packages[@]}") ;;
		esac
		apt_update "$set"
		offered=$(offers "$set" "${names[@]}")
		for name in "${names[@]}"; do
			line=$(grep "^$name " <<<"$offered" | tail -1) || die "Debian $release has no $name for $set"
			echo "$set $line"
		done
	done
}

write_lock() {
	local lines
	lines=$(mirrored)
	cat >"$lock.new" <<-EOF
		# What the portable builds link, and what the container image has besides (tools/portable --lock writes this file):
		# SET PACKAGE VERSION SHA256. A source's hash is that of its .dsc, which has the hashes of its files.
		$lines
	EOF
	mv "$lock.new" "$lock"
	say "wrote cmake/portable.lock"
}

check_lock() {
	local lines difference
	lines=$(mirrored)
	if difference=$(diff -U 0 <(grep -v '^#' "$lock") - <<<"$lines"); then
		say "cmake/portable.lock has what Debian has"
	else
		grep -E '^[-+][^-+]' <<<"$difference" >&2
		die "the lock (-) is not what Debian has (+); $renew"
	fi
}

# bash completion for upsample
_upsample() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    # A name a line: names may have spaces.
    _upsample_lines() { mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <("$@"); }
    COMPREPLY=()
    case $before in
        -f | --filter) _upsample_lines compgen -W "nearest bilinear bicubic lanczos" -- "$word" ;;
        -g | --device) _upsample_lines compgen -W "auto cpu cuda" -- "$word" ;;
        --precision) _upsample_lines compgen -W "float32 tf32 tf32x3 float16" -- "$word" ;;
        --format) _upsample_lines compgen -W "png jpg webp" -- "$word" ;;
        -s | --scale) _upsample_lines compgen -W "2 3 4 5 6 7 8" -- "$word" ;;
        -n | --noise) _upsample_lines compgen -W "-1 0 1 2 3" -- "$word" ;;
        -m | --model)
            _upsample_lines compgen -W "$(upsample --list-models -q 2>/dev/null | cut -d ' ' -f 1)" -- "$word"
            _upsample_lines compgen -f -- "$word"
            ;;
        -i | --input | -o | --output | --model-folder) _upsample_lines compgen -f -- "$word" ;;
        *) _upsample_lines compgen -W "--input --output --scale --size --filter --linear --strip --overwrite
            --skip-existing --format --compression --quality --lossless --raw --model --model-folder --list-models
            --noise --tta --tile --precision --device --threads --memory --max-pixels --max-chunks --max-chunk-bytes
            --max-text-bytes --quiet --verbose --json --help --version" -- "$word" ;;
    esac
}
complete -o filenames -F _upsample upsample

# bash completion for upsample
_upsample() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
        -f | --filter) COMPREPLY=($(compgen -W "nearest bilinear bicubic lanczos" -- "$word")) ;;
        -g | --device) COMPREPLY=($(compgen -W "auto cpu cuda" -- "$word")) ;;
        --precision) COMPREPLY=($(compgen -W "float32 tf32 tf32x3" -- "$word")) ;;
        -s | --scale) COMPREPLY=($(compgen -W "2 3 4 5 6 7 8" -- "$word")) ;;
        -m | --model) COMPREPLY=($(compgen -f -- "$word") $(compgen -W "$(upsample --list-models 2>/dev/null)" -- "$word")) ;;
        -i | --input | -o | --output | --model-folder) COMPREPLY=($(compgen -f -- "$word")) ;;
        *) COMPREPLY=($(compgen -W "--input --output --scale --filter --model --model-folder --list-models --tile --device
            --precision --threads --linear --strip --overwrite --skip-existing --compression --quiet --verbose --json
            --max-pixels --max-chunks --max-chunk-bytes --help --version" -- "$word")) ;;
    esac
}
complete -o filenames -F _upsample upsample

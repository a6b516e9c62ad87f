# Completion of svc for fish: svc completion fish | source

# What may follow a command: commands below it, its options, what values some of them take, what its arguments are.
function __svc_at
    set subs
    set flags
    set values
    set places
    switch $argv[1]
#COMMANDS#
    end
end

function __svc_kind
    for entry in $values
        string match -q -- "$argv[1]=*" $entry; and string replace -- "$argv[1]=" '' $entry; and return
    end
end

function __svc_complete
    set -g subs
    set -g flags
    set -g values
    set -g places
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l route svc
    set -l at 1
    set -l waits ''
    set -l option ''
    set -l before ''
    set -l engine
    set -l kind ''
    __svc_at $route
    for word in $words[2..-1]
        if test -n "$waits"
            contains -- $option --url --config -c; and set -a engine $option $word
            test -z "$before" -a "$waits" = @function; and set before $word
            set waits ''
        else if string match -q -- '-*=*' $word
            string match -qr -- '^--(url|config)=' $word; and set -a engine $word
        else if string match -q -- '-*' $word
            set option $word
            set waits (__svc_kind $word)
        else if test -n "$word"; and string match -q -- "$word"\t'*' $subs
            set route "$route $word"
            set at 1
            __svc_at $route
        else
            test -z "$before"; and set before $word
            set at (math $at + 1)
        end
    end
    set -l lead ''
    if test -n "$waits"
        set kind $waits
    else if string match -q -- '--*=*' $cur
        set lead (string replace -r -- '=.*' '=' $cur)
        set kind (__svc_kind (string replace -r -- '=.*' '' $cur))
        set cur (string replace -r -- '^[^=]*=' '' $cur)
    else if string match -q -- '-*' $cur
        printf '%s\n' $flags
        return
    else if test (count $subs) -gt 0
        printf '%s\n' $subs
        return
    else if test (count $places) -gt 0
        if test $at -le (count $places)
            set kind $places[$at]
        else if string match -q -- '*...' $places[-1]
            # The last argument may be given again and again.
            set kind $places[-1]
        end
        set kind (string replace -- ... '' $kind)
    end
    switch "$kind"
        case ',*'
            printf "$lead%s\n" (string split -n , -- $kind)
        case 'folder,*'
            __fish_complete_directories $cur
            string split -n , -- (string replace -- folder '' $kind)
        case file
            __fish_complete_path $cur
        case folder
            __fish_complete_directories $cur
        case '@*'
            set -l names ($words[1] __complete (string replace -- @ '' $kind) $engine -- $before 2>/dev/null)
            test (count $names) -gt 0; and printf '%s\n' $lead$names
    end
end

complete -c svc -f -a '(__svc_complete)'

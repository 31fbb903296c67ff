# fish completion for checkout. In an interactive shell: checkout completion fish | source

function __checkout_complete
    set -l token (commandline -ct)
    # A token with an open quote cannot be unescaped.
    set -l typed (string unescape -- $token; or string sub -s 2 -- $token)
    set -l words (commandline -opc)
    for line in (command checkout complete -- $words[2..-1] "$typed" 2>/dev/null)
        # fish inserts a leading ~ without quotes, and would expand it to a home folder: such a value is not offered.
        if string match -q -r '^[^~].*\t' -- $line
            printf '%s\n' $line
        else if test $line = :0
            __fish_complete_path $typed
        end
    end
end

complete -c checkout -e
complete -c checkout -f -a '(__checkout_complete)'

import Foundation
import TestSupport
import Testing
import TokenGeneration

/// Types passwords on a terminal of the `script` command, each after its prompt.
@Suite("Password prompts", .limitedConcurrency)
struct PasswordPromptTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write("It is true.", to: "file")
    }

    /// Runs a command on a terminal and types an answer after each prompt, which ends with a colon.
    ///
    /// - Returns: The text of the terminal, and the exit code in the last line.
    private func type(_ answers: [String], to command: String) throws -> String {
        let answers = answers.map { "'\($0)'" }.joined(separator: " ")
        // Bash 5.3 lets coprocesses ignore Control-C.
        let script = """
            coproc TERMINAL { env --default-signal=INT,QUIT script -qefc '\(command)' /dev/null; }
            exec {input}>&"${TERMINAL[1]}" {output}<&"${TERMINAL[0]}"
            terminal=$TERMINAL_PID
            for answer in \(answers); do
                text=
                while [[ $text != *': ' ]] && IFS= read -r -N1 letter <&"$output"; do
                    text+=$letter; printf %s "$letter"
                done
                # A line break after Control-C could arrive before the process ends.
                [[ $answer == $'\\x03' ]] || answer+=$'\\n'
                printf %s "$answer" >&"$input"
            done
            cat <&"$output"
            wait "$terminal"; echo "status $?"
            """
        try folder.write(script, to: ".type")
        return try BuiltProgram.shell("bash .type", in: folder).output.replacing("\r\n", with: "\n")
    }

    @Test("Encrypts with a password that is typed twice, and decrypts, without showing it")
    func roundTrip() throws {
        let encrypted = try type(["correct horse", "correct horse"], to: "jwt encrypt --password file > jwe")
        #expect(encrypted == "Password: \nRepeat the password: \nstatus 0\n")
        let decrypted = try type(["correct horse"], to: "jwt decrypt --password < jwe > content")
        #expect(decrypted == "Password: \nstatus 0\n")
        #expect(try folder.text(of: "content") == "It is true.")
        let refused = try type(["correct house"], to: "jwt decrypt --password < jwe")
        let message = "jwt decrypt: the token can't be decrypted: it's for another key, or it was changed"
        #expect(refused == "Password: \n\(message)\nstatus 1\n")
    }

    @Test("Rejects two different passwords and an empty one")
    func mistakes() throws {
        let different = try type(["a", "b"], to: "jwt encrypt --password file > jwe")
        let message = "jwt encrypt: the passwords differ; try again"
        #expect(different == "Password: \nRepeat the password: \n\(message)\nstatus 2\n")
        let empty = try type([""], to: "jwt encrypt --password file > jwe")
        #expect(empty == "Password: \njwt encrypt: the password is empty\nstatus 2\n")
    }

    @Test("Shows what the user types again after a prompt and after a signal")
    func restored() throws {
        let normal = try type(["a", "a"], to: "jwt encrypt --password file > jwe; stty -a | grep -ow -- \"-*echo\"")
        #expect(normal.hasSuffix("\necho\nstatus 0\n"), "\(normal)")
        // The terminal sends the signal for Control-C.
        let signal = try type(
            ["\u{3}"],
            to: "trap : INT; jwt encrypt --password file > jwe; stty -a | grep -ow -- \"-*echo\""
        )
        #expect(signal.hasSuffix(": echo\nstatus 0\n"), "\(signal)")
    }

    @Test("Decrypts with the typed password of a private key")
    func key() throws {
        try folder.write(KeyFixtures.encrypted, to: "key.pem")
        let key = try DecryptionKey(pem: KeyFixtures.pkcs8, algorithm: .ecdhES).encryptionKey
        try folder.write(key.encrypt(Data("x".utf8)), to: "jwe")
        let result = try type(["secret"], to: "jwt decrypt -k key.pem --password < jwe > content")
        #expect(result == "Password: \nstatus 0\n")
        #expect(try folder.text(of: "content") == "x")
    }

    @Test("Fails without a terminal")
    func noTerminal() throws {
        let result = try BuiltProgram.shell("setsid -w jwt encrypt --password file", in: folder)
        #expect(result.status == 2 && result.output == "")
        #expect(result.errors.hasPrefix("jwt encrypt: no terminal to type the password on ("))
        #expect(result.errors.hasSuffix("; pass it with --password-file FILE or --password-env NAME\n"))
    }
}

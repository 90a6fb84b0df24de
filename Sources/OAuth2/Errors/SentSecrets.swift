import Networking
import TokenGeneration

/// The secrets that a request carries, and a search for them in the server's response.
///
/// A server may repeat a secret as it is or encoded: percent- or form-encoded, in base64 such as
/// that of `Basic`, escaped for JSON or HTML, and in nested encodings. The search decodes the
/// server's text step by step. In every stage it searches for 12 successive bytes of a secret, or
/// for all of a shorter one.
///
/// A budget bounds the work for a text. A text that would cost more isn't shown at all. Neither is
/// one that contains a secret of fewer than four bytes, because the rest would reveal it.
struct SentSecrets: Sendable, Redacted {
    static let placeholder = "<redacted>"
    static let none = Self([])

    private let texts: [String]

    /// Creates a set of secrets, as they are before encoding; empty texts are ignored.
    init(_ texts: [String]) {
        self.texts = texts.filter { !$0.isEmpty }
    }

    init(_ token: Secret) { self.init([token.expose { $0 }]) }

    /// Returns a text with every secret replaced; `nil` if it can't be shown.
    func redacted(_ text: String) -> String? {
        guard !texts.isEmpty else { return text }
        let bytes = Array(text.utf8)
        guard let found = SecretSearch.bytes(of: texts, in: bytes) else { return nil }
        var shown: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if !found[index] {
                shown.append(byte)
            } else if index == 0 || !found[index - 1] {
                shown += Self.placeholder.utf8
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }

    /// `true` if a text can be shown unchanged.
    func isFree(_ text: String) -> Bool { areFree([text]) == [true] }

    /// Returns, for each text, `true` if it can be shown unchanged; the budget is that of one text.
    func areFree(_ candidates: [String]) -> [Bool] {
        guard !texts.isEmpty else { return candidates.map { _ in true } }
        guard let found = SecretSearch.bytes(of: texts, in: candidates.flatMap { Array($0.utf8) + [0] }) else {
            return candidates.map { _ in false }
        }
        var start = 0
        return candidates.map { text in
            defer { start += text.utf8.count + 1 }
            return !found[start..<start + text.utf8.count].contains(true)
        }
    }

    /// The secrets and their lowercase forms, as in the names of header parameters.
    var foldingCase: Self { Self(texts + texts.map { $0.lowercased() }) }

    /// A parse error may name members of the response.
    func redacted(_ error: any Error) -> (any Error)? {
        guard let error = error as? TokenError, let message = redacted(error.message) else { return nil }
        return TokenError(error.code, message)
    }

    var description: String { "\(texts.count) secrets" }
}

/// A search for secrets in a text and everything it decodes to.
struct SecretSearch {
    /// The maximum number of lookups for one text: one for each byte, stage and window length.
    static let budget = 1 << 18
    /// The maximum number of nested encodings to decode.
    static let depth = 4
    /// The lengths of the windows that secrets are cut into.
    static let lengths = 1...12
    /// The length of the shortest secret that is replaced; a text with a shorter one is dropped.
    static let leastLength = 4

    private var windows: [Int: Set<UInt128>] = [:]
    private var seen: Set<[UInt8]> = []
    /// For each byte of the text, `true` if it belongs to a secret.
    private var found: [Bool]
    private var budgetLeft = Self.budget
    /// A Boolean value that indicates whether a secret that is too short to replace was found.
    private var hasShortSecret = false
    /// The length of the shortest run of base64 that can contain a secret.
    private var leastRun = Int.max

    /// Returns, for each byte, `true` if it belongs to a secret; `nil` if the search exceeds the
    /// budget or finds a secret that is too short to replace.
    static func bytes(of secrets: [String], in text: [UInt8]) -> [Bool]? {
        var search = SecretSearch(text.count)
        for secret in secrets {
            guard search.spend(secret.utf8.count) else { return nil }
            let length = min(secret.utf8.count, lengths.upperBound)
            search.leastRun = min(search.leastRun, (4 * length + 2) / 3)
            forEachWindow(of: Array(secret.utf8), length) { window, _ in
                search.windows[length, default: []].insert(window)
            }
        }
        search.look(at: DecodingStage(text), depth: 0)
        return search.budgetLeft >= 0 && !search.hasShortSecret ? search.found : nil
    }

    private init(_ count: Int) {
        found = [Bool](repeating: false, count: count)
    }

    private mutating func spend(_ count: Int) -> Bool {
        budgetLeft -= count
        return budgetLeft >= 0
    }

    private mutating func look(at stage: DecodingStage, depth: Int) {
        guard budgetLeft >= 0, seen.insert(stage.bytes).inserted, spend(stage.bytes.count * windows.count) else {
            return
        }
        for (length, windows) in windows {
            Self.forEachWindow(of: stage.bytes, length) { window, end in
                guard windows.contains(window) else { return }
                if length < Self.leastLength { hasShortSecret = true }
                for index in end - length + 1...end {
                    for byte in stage.origins[index] { found[byte] = true }
                }
            }
        }
        guard depth < Self.depth else { return }
        for next in stage.decoded(leastRun: min(leastRun, 6)) { look(at: next, depth: depth + 1) }
    }

    /// A space equals a plus sign, because forms encode one as the other.
    private static func forEachWindow(of bytes: [UInt8], _ length: Int, _ body: (UInt128, Int) -> Void) {
        let mask = UInt128(1) << UInt128(8 * length) - 1
        var window: UInt128 = 0
        for (index, byte) in bytes.enumerated() {
            window = (window << 8 | UInt128(byte == UInt8(ascii: " ") ? UInt8(ascii: "+") : byte)) & mask
            if index >= length - 1 { body(window, index) }
        }
    }
}

/// A text or one of its decodings, with the origin of each byte.
private struct DecodingStage {
    private(set) var bytes: [UInt8]
    /// The range of the original text that each byte comes from.
    private(set) var origins: [Range<Int>]

    init(_ text: [UInt8]) {
        bytes = text
        origins = text.indices.map { $0..<$0 + 1 }
    }

    private init() { (bytes, origins) = ([], []) }

    /// Returns the decodings of this stage, one for each encoding it contains.
    func decoded(leastRun: Int) -> [DecodingStage] {
        [unescaped(Self.percentEscape), unescaped(Self.stringEscape), unescaped(Self.entity)].compactMap(\.self)
            + (0..<4).compactMap { base64Decoded(from: $0, leastRun: leastRun) }
    }

    /// Returns the stage with its escapes decoded, or `nil` if it has none.
    private func unescaped(_ escape: (ArraySlice<UInt8>) -> (length: Int, bytes: [UInt8])?) -> DecodingStage? {
        var stage = DecodingStage()
        var index = 0
        while index < bytes.count {
            if let (length, plain) = escape(bytes[index...].prefix(12)) {
                stage.append(plain, from: origins[index].lowerBound..<origins[index + length - 1].upperBound)
                index += length
            } else {
                stage.append([bytes[index]], from: origins[index])
                index += 1
            }
        }
        return stage.bytes.count < bytes.count ? stage : nil
    }

    /// Decodes every run of base64 or base64url from its character `shift`, or returns `nil` if
    /// every run is shorter than `leastRun`.
    private func base64Decoded(from shift: Int, leastRun: Int) -> DecodingStage? {
        var stage = DecodingStage()
        var start = 0
        while start < bytes.count {
            let run = bytes[start...].prefix { Self.base64Value($0) != nil }
            if run.count >= shift + leastRun {
                for index in stride(from: start + shift, to: run.endIndex, by: 4) {
                    let group = run[index..<min(index + 4, run.endIndex)]
                    let bits = group.reduce(0) { $0 << 6 | UInt32(Self.base64Value($1) ?? 0) }
                    let number = bits << (6 * (4 - group.count))
                    let plain = [UInt8(number >> 16 & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
                    let source = origins[group.startIndex].lowerBound..<origins[group.endIndex - 1].upperBound
                    stage.append(Array(plain.prefix(group.count - 1)), from: source)
                }
                // No secret spans two runs.
                stage.append([0], from: 0..<0)
            }
            start = run.endIndex + 1
        }
        return stage.bytes.isEmpty ? nil : stage
    }

    private mutating func append(_ plain: [UInt8], from source: Range<Int>) {
        bytes += plain
        origins += plain.map { _ in source }
    }

    /// Decodes an escape such as `%2B`.
    private static func percentEscape(_ text: ArraySlice<UInt8>) -> (length: Int, bytes: [UInt8])? {
        guard text.first == UInt8(ascii: "%"), let byte = hexadecimal(text.dropFirst().prefix(2), count: 2) else {
            return nil
        }
        return (3, [UInt8(byte)])
    }

    /// Decodes an escape of JSON or a programming language, such as `\u002B`, `\x2B` or `\/`.
    private static func stringEscape(_ text: ArraySlice<UInt8>) -> (length: Int, bytes: [UInt8])? {
        guard text.first == UInt8(ascii: "\\"), let kind = text.dropFirst().first else { return nil }
        let rest = text.dropFirst(2)
        switch kind {
        case UInt8(ascii: "u"):
            guard let unit = hexadecimal(rest.prefix(4), count: 4) else { return nil }
            if let scalar = Unicode.Scalar(unit) { return (6, Array(String(scalar).utf8)) }
            guard rest.dropFirst(4).starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]),
                let low = hexadecimal(rest.dropFirst(6).prefix(4), count: 4), (0xD800..<0xDC00).contains(unit),
                (0xDC00..<0xE000).contains(low),
                let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
            else { return nil }
            return (12, Array(String(scalar).utf8))
        case UInt8(ascii: "x"):
            return hexadecimal(rest.prefix(2), count: 2).map { (4, [UInt8($0)]) }
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "/"), UInt8(ascii: "\\"): return (2, [kind])
        case UInt8(ascii: "n"): return (2, [0x0A])
        case UInt8(ascii: "r"): return (2, [0x0D])
        case UInt8(ascii: "t"): return (2, [0x09])
        case UInt8(ascii: "b"): return (2, [0x08])
        case UInt8(ascii: "f"): return (2, [0x0C])
        default: return nil
        }
    }

    /// Decodes an HTML character reference, such as `&amp;`, `&#43;` or `&#x2B;`.
    private static func entity(_ text: ArraySlice<UInt8>) -> (length: Int, bytes: [UInt8])? {
        // A reference has at most ten bytes without leading zeros. The limit bounds the search at
        // each ampersand.
        guard text.first == UInt8(ascii: "&"), let end = text.prefix(32).firstIndex(of: UInt8(ascii: ";"))
        else { return nil }
        let name = String(decoding: text[(text.startIndex + 1)..<end], as: UTF8.self)
        let length = end + 1 - text.startIndex
        if let plain = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"][name] {
            return (length, Array(plain.utf8))
        }
        let number =
            name.hasPrefix("#x") || name.hasPrefix("#X")
            ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
        guard let scalar = number.flatMap(Unicode.Scalar.init) else { return nil }
        return (length, Array(String(scalar).utf8))
    }

    private static func hexadecimal(_ digits: ArraySlice<UInt8>, count: Int) -> UInt32? {
        guard digits.count == count, digits.first != UInt8(ascii: "+") else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    private static func base64Value(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

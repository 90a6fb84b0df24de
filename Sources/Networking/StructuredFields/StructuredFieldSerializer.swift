import Foundation

/// A serializer of structured fields
/// ([RFC 9651 §4.1](https://www.rfc-editor.org/rfc/rfc9651#section-4.1)).
struct StructuredFieldSerializer {
    /// ASCII bytes, because appending to a string takes several times as long.
    private var octets: [UInt8] = []

    static func text(_ append: (inout Self) throws(NetworkError) -> Void) throws(NetworkError) -> String {
        var serializer = Self()
        try append(&serializer)
        return String(decoding: serializer.octets, as: UTF8.self)
    }

    mutating func append(_ list: StructuredField.List) throws(NetworkError) {
        for (index, member) in list.members.enumerated() {
            if index > 0 { append(", ") }
            switch member {
            case .item(let item): try append(item)
            case .innerList(let list): try append(list)
            }
        }
    }

    mutating func append(_ dictionary: StructuredField.Dictionary) throws(NetworkError) {
        for (index, member) in dictionary.enumerated() {
            if index > 0 { append(", ") }
            try append(key: member.key)
            switch member.value {
            case .item(let item):
                try append(valueOf: item.value)
                try append(item.parameters)
            case .innerList(let list):
                octets.append(UInt8(ascii: "="))
                try append(list)
            }
        }
    }

    mutating func append(_ list: StructuredField.InnerList) throws(NetworkError) {
        octets.append(UInt8(ascii: "("))
        for (index, item) in list.items.enumerated() {
            if index > 0 { octets.append(UInt8(ascii: " ")) }
            try append(item)
        }
        octets.append(UInt8(ascii: ")"))
        try append(list.parameters)
    }

    mutating func append(_ item: StructuredField.Item) throws(NetworkError) {
        try append(item.value)
        try append(item.parameters)
    }

    private mutating func append(_ parameters: StructuredField.Parameters) throws(NetworkError) {
        for (key, value) in parameters {
            octets.append(UInt8(ascii: ";"))
            try append(key: key)
            try append(valueOf: value)
        }
    }

    private mutating func append(key: String) throws(NetworkError) {
        guard StructuredFieldSyntax.isKey(key) else {
            throw defect("a key must consist of lowercase letters, digits and _-.*, and begin with a letter or *")
        }
        append(key)
    }

    /// The value `true` is omitted.
    private mutating func append(valueOf value: StructuredField.BareItem) throws(NetworkError) {
        if case .boolean(true) = value { return }
        octets.append(UInt8(ascii: "="))
        try append(value)
    }

    private mutating func append(_ value: StructuredField.BareItem) throws(NetworkError) {
        switch value {
        case .integer(let integer): try append(integer)
        case .decimal(let decimal): try append(decimal)
        case .string(let string): try append(string: string)
        case .token(let token):
            guard let first = token.utf8.first, StructuredFieldSyntax.startsToken(first),
                token.utf8.allSatisfy(StructuredFieldSyntax.isTokenByte)
            else { throw defect("a token is empty or has an invalid character; use a string") }
            append(token)
        case .byteSequence(let bytes):
            octets.append(UInt8(ascii: ":"))
            octets.append(contentsOf: bytes.base64EncodedData())
            octets.append(UInt8(ascii: ":"))
        case .boolean(let boolean): append(boolean ? "?1" : "?0")
        case .date(let seconds):
            octets.append(UInt8(ascii: "@"))
            try append(seconds)
        case .displayString(let string): append(displayString: string)
        }
    }

    private mutating func append(_ text: String) { octets.append(contentsOf: text.utf8) }

    private mutating func append(_ integer: Int64) throws(NetworkError) {
        guard (-999_999_999_999_999...999_999_999_999_999).contains(integer) else {
            throw defect("an integer has more than 15 digits")
        }
        append(String(integer))
    }

    private mutating func append(_ decimal: Decimal) throws(NetworkError) {
        var (value, rounded) = (decimal, Decimal())
        unsafe NSDecimalRound(&rounded, &value, 3, .bankers)
        guard rounded.isFinite, abs(rounded) < 1_000_000_000_000 else {
            throw defect("a decimal has more than 12 digits before its point, or isn't a number")
        }
        let digits = rounded.description
        append(digits.utf8.contains(UInt8(ascii: ".")) ? digits : digits + ".0")
    }

    private mutating func append(string: String) throws(NetworkError) {
        octets.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            guard StructuredFieldSyntax.isPrintable(byte) else {
                throw defect("a string has a character that isn't printable ASCII; use a display string")
            }
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { octets.append(UInt8(ascii: "\\")) }
            octets.append(byte)
        }
        octets.append(UInt8(ascii: "\""))
    }

    private mutating func append(displayString: String) {
        append("%\"")
        for byte in displayString.utf8 {
            if byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\"") || !StructuredFieldSyntax.isPrintable(byte) {
                append(byte < 0x10 ? "%0" : "%")
                append(String(byte, radix: 16))
            } else {
                octets.append(byte)
            }
        }
        octets.append(UInt8(ascii: "\""))
    }

    private func defect(_ reason: String) -> NetworkError {
        NetworkError(.invalidField, "a structured field can't be serialized: \(reason)")
    }
}

import TokenGeneration

/// The path of a claim, such as `address.locality`, `nationalities[0]` or `nationalities[*]`.
///
/// A JSON array of names, indices and `null` for every element is a path, too. It's the only form
/// for names that contain a period or brackets.
struct ClaimPathArgument: ArgumentValue {
    static let placeholder = "PATH"

    let path: ClaimPath

    private static let brackets = (open: UInt8(ascii: "["), close: UInt8(ascii: "]"))
    private static let period = UInt8(ascii: ".")

    init(argument: String) throws(ValueError) {
        // No path begins with an index, because the claims are an object.
        let isJSON = argument.utf8.first == Self.brackets.open
        guard let path = isJSON ? Self.pointer(argument) : Self.plain(argument) else {
            throw ValueError(
                message: """
                    must be a path such as name, address.locality, nationalities[0] or nationalities[*], or a JSON \
                    array such as '["a.b",0,null]'
                    """
            )
        }
        self.path = path
    }

    /// Returns the text that is the argument for a path.
    static func text(of path: ClaimPath) -> String {
        var text = ""
        for step in path.pointer.array ?? [] {
            switch step {
            case .string(let name) where isPlain(name): text += text.isEmpty ? name : ".\(name)"
            case .number(let index) where !text.isEmpty: text += "[\(index)]"
            case .null where !text.isEmpty: text += "[*]"
            // Only objects have a serialization.
            default: return String(JSONObject([("", path.pointer)]).serialized().dropFirst(4).dropLast())
            }
        }
        return text
    }

    private static func pointer(_ text: String) -> ClaimPath? {
        guard let object = try? JSONObject(parsing: "{\"\":\(text)}"), object.count == 1, let value = object[""],
            let path = ClaimPath(pointer: value), path.pointer.array?.first?.string != nil
        else { return nil }
        return path
    }

    private static func plain(_ text: String) -> ClaimPath? {
        var elements: [ClaimPath.Element] = []
        var rest = Array(text.utf8)[...]
        while true {
            let name = rest.prefix { !isSpecial($0) }
            guard !name.isEmpty else { return nil }
            elements.append(.name(String(decoding: name, as: UTF8.self)))
            rest = rest[name.endIndex...]
            while rest.first == brackets.open {
                let content = rest.dropFirst().prefix { $0 != brackets.close }
                guard content.endIndex < rest.endIndex, let element = element(content) else { return nil }
                elements.append(element)
                rest = rest[(content.endIndex + 1)...]
            }
            guard let next = rest.popFirst() else { return ClaimPath(elements) }
            guard next == period else { return nil }
        }
    }

    /// Returns the step for the text in brackets.
    private static func element(_ content: ArraySlice<UInt8>) -> ClaimPath.Element? {
        if content.elementsEqual("*".utf8) { return .everyElement }
        // Nine digits exceed the size of any token.
        guard (1...9).contains(content.count), content.allSatisfy(\.isDigit) else { return nil }
        return Int(String(decoding: content, as: UTF8.self)).map { .index($0) }
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == period || byte == brackets.open || byte == brackets.close
    }

    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && !name.utf8.contains(where: isSpecial)
    }
}

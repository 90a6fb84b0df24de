/// What the encoders and containers of one `Encodable` value write to.
///
/// Only containers that a type keeps open beside others (`nestedContainer`, `superEncoder`) get a node of their own; its
/// text is put in its place when the value around it is complete.
final class JSONTextNode {
    private(set) var text: JSONText
    private var path: [any CodingKey]
    private var children: [JSONTextNode] = []
    private var failure: EncodingError?

    private init(path: [any CodingKey], levels: Int) {
        self.path = path
        text = JSONText(levels: levels)
    }

    /// Encodes a value as JSON with sorted members.
    ///
    /// - Throws: `EncodingError`, or what the value throws.
    static func encode(_ value: some Encodable) throws -> JSONText {
        let node = JSONTextNode(path: [], levels: 0)
        if let scalar = try node.scalar(value, nil) {
            node.text.write(scalar)
        } else {
            try node.writeNested(value, nil)
        }
        return node.text
    }

    func codingPath(_ ticket: JSONText.Ticket) -> [any CodingKey] {
        Array(path.prefix(Int(ticket.pathCount)))
    }

    /// Makes the value an object or an array; failing to is an error when the value ends.
    func startContainer(_ ticket: JSONText.Ticket, _ shape: JSONText.Shape) {
        if !text.startContainer(ticket, shape) {
            fail(ticket, "It is encoded as two kinds of value, or after it had ended.")
        }
        if text.levels > JSONLimits.document.depth {
            fail(ticket, "It is nested deeper than \(JSONLimits.document.depth) levels.")
        }
    }

    /// Makes the value one that is no container.
    func writeSingle(_ ticket: JSONText.Ticket, _ scalar: JSONScalar) throws {
        guard text.startSingle(ticket) else { throw misuse(ticket) }
        text.write(scalar)
    }

    /// Makes the value what another one is.
    func writeSingle(_ ticket: JSONText.Ticket, _ value: some Encodable) throws {
        let scalar = try scalar(value, nil)
        guard text.startSingle(ticket) else { throw misuse(ticket) }
        if let scalar { text.write(scalar) } else { try writeNested(value, nil) }
    }

    /// Writes a member or an element.
    @inline(__always)
    func write(_ ticket: JSONText.Ticket, _ name: String?, _ scalar: JSONScalar) throws {
        guard text.write(ticket, name, scalar) else { throw misuse(ticket) }
    }

    /// Writes a member or an element of any type; one that fails leaves nothing behind.
    func write(_ ticket: JSONText.Ticket, _ name: String?, _ value: some Encodable, _ key: some CodingKey) throws {
        if let scalar = try scalar(value, key) { return try write(ticket, name, scalar) }
        let mark = text.mark(ticket)
        guard text.startPart(ticket, name) else { throw misuse(ticket) }
        do {
            try writeNested(value, key)
        } catch {
            text.goBack(to: mark)
            throw error
        }
    }

    /// Puts a container in this one that stays open beside it.
    func startChild(_ ticket: JSONText.Ticket, _ name: String?, _ key: any CodingKey) -> JSONTextEncoder {
        let child = JSONTextNode(path: codingPath(ticket) + [key], levels: text.levels)
        if text.startPart(ticket, name, child: children.count) {
            children.append(child)
        } else {
            fail(ticket, "A container was asked for of a value that has ended.")
        }
        return JSONTextEncoder(node: child, ticket: child.text.open(pathCount: child.path.count))
    }

    /// The error for a number that JSON can't hold.
    func notFinite(_ value: some Encodable, _ key: (any CodingKey)?) -> EncodingError {
        .invalidValue(
            value,
            .init(codingPath: path + (key.map { [$0] } ?? []), debugDescription: "JSON has no infinity and no NaN.")
        )
    }
}

extension JSONTextNode {
    @inline(__always)
    private func scalar<Value: Encodable>(_ value: Value, _ key: (any CodingKey)?) throws -> JSONScalar? {
        do throws(JSONScalar.NotFinite) {
            return try JSONScalar.of(value)
        } catch {
            throw notFinite(value, key)
        }
    }

    /// Lets a value write itself.
    private func writeNested(_ value: some Encodable, _ key: (any CodingKey)?) throws {
        if let failure { throw failure }
        // Values that are no containers can be nested without a bound, too.
        guard text.openValues < 4 * JSONLimits.document.depth else {
            throw EncodingError.invalidValue(
                value,
                .init(codingPath: path, debugDescription: "It is nested too deeply.")
            )
        }
        if let key { path.append(key) }
        defer { if key != nil { path.removeLast() } }
        let childCount = children.count
        let ticket = text.open(pathCount: path.count)
        try value.encode(to: JSONTextEncoder(node: self, ticket: ticket))
        try close(childrenFrom: childCount)
    }

    private func close(childrenFrom first: Int) throws {
        if let failure { throw failure }
        guard children.count > 0 else { return text.close(with: []) }
        // Numbers of children count from the first of the node, so those of values around this one are handed over, too.
        var texts: [JSONText] = []
        for (index, child) in children.enumerated() {
            if index >= first { try child.close(childrenFrom: 0) }
            texts.append(child.text)
        }
        text.close(with: texts)
        children.removeLast(children.count - first)
    }

    private func fail(_ ticket: JSONText.Ticket, _ reason: String) {
        if failure == nil {
            failure = .invalidValue(0, .init(codingPath: codingPath(ticket), debugDescription: reason))
        }
    }

    private func misuse(_ ticket: JSONText.Ticket) -> EncodingError {
        let reason = "It was written to twice, while another value was being written, or after it had ended."
        return .invalidValue(0, .init(codingPath: codingPath(ticket), debugDescription: reason))
    }
}

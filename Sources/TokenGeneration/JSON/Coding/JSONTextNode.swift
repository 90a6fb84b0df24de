internal import OpenSSLCrypto

/// What the encoders and containers of one `Encodable` value write to.
///
/// Only containers that a type keeps open beside others (`nestedContainer`, `superEncoder`) get a node of their own; its
/// text is put in its place when the value around it is complete.
struct JSONTextNode {
    fileprivate let state: ExclusiveBox<State>

    fileprivate struct State {
        var text: JSONText
        var path: [any CodingKey]
        var children: [JSONTextNode] = []
        var failure: EncodingError?
    }

    private init(path: [any CodingKey], levels: Int) {
        state = ExclusiveBox(State(text: JSONText(levels: levels), path: path))
    }

    /// Encodes a value as JSON with sorted members.
    ///
    /// - Returns: The text, and whether a name has characters that make its place among the others hard to tell.
    /// - Throws: `EncodingError`, or what the value throws.
    static func encode(_ value: some Encodable) throws -> (json: [UInt8], hasUnusualNames: Bool) {
        let node = JSONTextNode(path: [], levels: 0)
        if let scalar = try node.scalar(value, nil) {
            node.state.withValue { $0.text.write(scalar) }
        } else {
            try node.writeNested(value, nil)
        }
        return node.state.withValue { ($0.text.takeJSON(), $0.text.hasUnusualNames) }
    }

    func codingPath(_ ticket: JSONText.Ticket) -> [any CodingKey] {
        state.withValue { $0.codingPath(ticket) }
    }

    /// How many elements or members a value has.
    func count(_ ticket: JSONText.Ticket) -> Int {
        state.withValue { $0.text.count(ticket) }
    }

    /// Makes the value an object or an array; failing to is an error when the value ends.
    func startContainer(_ ticket: JSONText.Ticket, _ shape: JSONText.Shape) {
        state.withValue { state in
            if !state.text.startContainer(ticket, shape) {
                state.fail(ticket, "It is encoded as two kinds of value, or after it had ended.")
            }
            if state.text.levels > JSONLimits.document.depth {
                state.fail(ticket, "It is nested deeper than \(JSONLimits.document.depth) levels.")
            }
        }
    }

    /// Makes the value one that is no container.
    func writeSingle(_ ticket: JSONText.Ticket, _ scalar: JSONScalar) throws {
        try state.withValue { state in
            guard state.text.startSingle(ticket) else { throw state.misuse(ticket) }
            state.text.write(scalar)
        }
    }

    /// Makes the value what another one is.
    func writeSingle(_ ticket: JSONText.Ticket, _ value: some Encodable) throws {
        if let scalar = try scalar(value, nil) { return try writeSingle(ticket, scalar) }
        try state.withValue { state in
            guard state.text.startSingle(ticket) else { throw state.misuse(ticket) }
        }
        try writeNested(value, nil)
    }

    /// Writes a member or an element.
    func write(_ ticket: JSONText.Ticket, _ name: String?, _ scalar: JSONScalar) throws {
        try state.withValue { state in
            guard state.text.write(ticket, name, scalar) else { throw state.misuse(ticket) }
        }
    }

    /// Writes a member or an element of any type; one that fails leaves nothing behind.
    func write(_ ticket: JSONText.Ticket, _ name: String?, _ value: some Encodable, _ key: some CodingKey) throws {
        if let scalar = try scalar(value, key) { return try write(ticket, name, scalar) }
        let mark = try state.withValue { state in
            let mark = state.text.mark(ticket)
            guard state.text.startPart(ticket, name) else { throw state.misuse(ticket) }
            return mark
        }
        do {
            try writeNested(value, key)
        } catch {
            state.withValue { $0.text.goBack(to: mark) }
            throw error
        }
    }

    /// Puts a container in this one that stays open beside it.
    func startChild(_ ticket: JSONText.Ticket, _ name: String?, _ key: any CodingKey) -> JSONTextEncoder {
        let child = state.withValue { state in
            let child = JSONTextNode(path: state.codingPath(ticket) + [key], levels: state.text.levels)
            if state.text.startPart(ticket, name, child: state.children.count) {
                state.children.append(child)
            } else {
                state.fail(ticket, "A container was asked for of a value that has ended.")
            }
            return child
        }
        return JSONTextEncoder(node: child, ticket: child.state.withValue { $0.text.open(pathCount: $0.path.count) })
    }

    /// The error for a number that JSON can't hold.
    func notFinite(
        _ value: some Encodable,
        _ key: (any CodingKey)?,
        _ reason: String = JSONScalar.NotFinite().reason
    ) -> EncodingError {
        let path = state.withValue { $0.path }
        return .invalidValue(value, .init(codingPath: path + (key.map { [$0] } ?? []), debugDescription: reason))
    }
}

extension JSONTextNode {
    @inline(__always)
    private func scalar<Value: Encodable>(_ value: Value, _ key: (any CodingKey)?) throws -> JSONScalar? {
        do throws(JSONScalar.NotFinite) {
            return try JSONScalar.of(value)
        } catch {
            throw notFinite(value, key, error.reason)
        }
    }

    /// Lets a value write itself.
    private func writeNested(_ value: some Encodable, _ key: (any CodingKey)?) throws {
        let (ticket, childCount) = try state.withValue { state in
            if let failure = state.failure { throw failure }
            // Values that are no containers can be nested without a bound, too.
            guard state.text.openValues < 4 * JSONLimits.document.depth else {
                throw EncodingError.invalidValue(
                    value,
                    .init(codingPath: state.path, debugDescription: "It is nested too deeply.")
                )
            }
            if let key { state.path.append(key) }
            return (state.text.open(pathCount: state.path.count), state.children.count)
        }
        do {
            try value.encode(to: JSONTextEncoder(node: self, ticket: ticket))
        } catch {
            if key != nil { state.withValue { _ = $0.path.popLast() } }
            throw error
        }
        try state.withValue { state in
            if key != nil { state.path.removeLast() }
            try state.close(childrenFrom: childCount)
        }
    }
}

extension JSONTextNode.State {
    func codingPath(_ ticket: JSONText.Ticket) -> [any CodingKey] {
        Array(path.prefix(Int(ticket.pathCount)))
    }

    mutating func close(childrenFrom first: Int) throws {
        if let failure { throw failure }
        guard children.count > 0 else { return text.close() }
        // Numbers of children count from the first of the node, so those of values around this one are handed over, too.
        var texts: [JSONText] = []
        for (index, child) in children.enumerated() {
            let text = try child.state.withValue { child in
                if index >= first { try child.close(childrenFrom: 0) }
                return child.text
            }
            texts.append(text)
        }
        text.close(with: texts)
        children.removeLast(children.count - first)
    }

    mutating func fail(_ ticket: JSONText.Ticket, _ reason: String) {
        if failure == nil {
            failure = .invalidValue(0, .init(codingPath: codingPath(ticket), debugDescription: reason))
        }
    }

    func misuse(_ ticket: JSONText.Ticket) -> EncodingError {
        let reason = "It was written to twice, while another value was being written, or after it had ended."
        return .invalidValue(0, .init(codingPath: codingPath(ticket), debugDescription: reason))
    }
}

/// The parts of the compiler's symbol graph that describe documentation.
struct SymbolGraph: Decodable {
    let module: Module
    let symbols: [Symbol]
    let relationships: [Relationship]

    struct Module: Decodable {
        let name: String
    }

    /// A relationship of the symbol `source`, such as `memberOf` the symbol `target`.
    struct Relationship: Decodable {
        let kind: String
        let source: String
        let target: String
    }

    struct Symbol: Decodable {
        let identifier: Identifier
        let kind: Kind
        let pathComponents: [String]
        let docComment: Comment?
        let functionSignature: Signature?
        let declarationFragments: [Fragment]
        let location: Location?
    }

    struct Identifier: Decodable {
        let precise: String
    }

    struct Kind: Decodable {
        let identifier: String
    }

    struct Comment: Decodable {
        /// The comment's module, such as the standard library's for a synthesized member.
        let module: String?
        let lines: [Line]
    }

    struct Line: Decodable {
        let text: String
    }

    struct Signature: Decodable {
        let parameters: [Parameter]?
        let returns: [Fragment]?
    }

    struct Parameter: Decodable {
        let name: String
        let internalName: String?
    }

    struct Fragment: Decodable {
        let kind: String
        let spelling: String
    }

    struct Location: Decodable {
        let uri: String
        let position: Position
    }

    struct Position: Decodable {
        let line: Int
    }
}

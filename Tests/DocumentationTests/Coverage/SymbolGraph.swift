/// The parts of the compiler's symbol graph that describe documentation.
struct SymbolGraph: Decodable {
    let module: Module
    let symbols: [Symbol]

    struct Module: Decodable {
        let name: String
    }

    struct Symbol: Decodable {
        let kind: Kind
        let pathComponents: [String]
        let docComment: Comment?
        let functionSignature: Signature?
        let declarationFragments: [Fragment]
        let location: Location?
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

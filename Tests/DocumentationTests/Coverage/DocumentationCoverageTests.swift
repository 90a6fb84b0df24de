import Foundation
import Testing

/// Checks the symbol graphs from `.ci/docs` for incomplete documentation.
@Suite("Documentation coverage")
struct DocumentationCoverageTests {
    /// The folder with a subfolder of symbol graphs for each product, or `nil` to skip the test.
    private static let folder = ProcessInfo.processInfo.environment["SYMBOL_GRAPHS"]

    @Test(
        "Every public symbol documents its summary, parameters, return value and errors",
        .enabled(if: folder != nil, "requires symbol graphs. Run bash .ci/docs."),
        arguments: [
            "TokenGeneration", "Networking", "OAuth2", "HTTPSignatures", "ResourceServer", "SharedStores",
            "WorkloadIdentity", "MockNetworking",
        ]
    )
    func complete(product: String) throws {
        let folder = URL(filePath: try #require(Self.folder)).appending(path: product)
        let graphs = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.hasSuffix(".symbols.json") }
            .map { try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: $0)) }
        // Extension nodes aren't documented, and synthesized members have other modules' comments.
        let symbols = graphs.flatMap(\.symbols).filter { symbol in
            symbol.kind.identifier != "swift.extension" && [nil, product].contains(symbol.docComment?.module)
        }
        #expect(symbols.count > 10, "too few symbols for \(product)")
        for symbol in symbols {
            #expect(symbol.gaps == [], "\(symbol.place)")
        }
        print("\(product): \(symbols.count) public symbols, \(symbols.count { $0.gaps.isEmpty }) completely documented")
    }

    /// Comments, declarations and the expected gaps.
    private static let cases: [(comment: String?, declaration: Declaration, gaps: [String])] = [
        (nil, .function(["key"], returns: "Int", throws: false), ["no documentation"]),
        ("", .function([], returns: "()", throws: false), ["no summary"]),
        ("- Returns: One.", .function([], returns: "Int", throws: false), ["no summary"]),
        ("Counts.", .function([], returns: "()", throws: false), []),
        (
            "Counts.", .function(["from", "to"], returns: "Int", throws: true),
            ["no “- Parameter from:”", "no “- Parameter to:”", "no “- Returns:”", "no “- Throws:”"]
        ),
        (
            "Counts.\n\n- Parameters:\n  - from: Where.\n  - to: Where.\n- Returns: How many.\n- Throws: Never.",
            .function(["from", "to"], returns: "Int", throws: true), []
        ),
        (
            "Counts.\n\n- Parameter from: Where.\n- Returns:", .function(["from"], returns: "Int", throws: false),
            ["no “- Returns:”"]
        ),
        (
            "Counts.\n\n- Parameter form: Where.", .function([], returns: "()", throws: false),
            ["unknown parameter form"]
        ),
        ("The name.", .property(throws: false), []),
        ("The name.", .property(throws: true), ["no “- Throws:”"]),
        ("The action.", .closureProperty, []),
    ]

    @Test("Names the gaps of a comment", arguments: cases.indices)
    func gaps(index: Int) {
        let (comment, declaration, gaps) = Self.cases[index]
        #expect(declaration.symbol(comment: comment).gaps == gaps)
    }

    private enum Declaration {
        case function([String], returns: String, throws: Bool)
        case property(throws: Bool)
        /// A property whose value is a closure that can throw.
        case closureProperty

        func symbol(comment: String?) -> SymbolGraph.Symbol {
            var signature: SymbolGraph.Signature?
            var fragments: [(String, String)]
            let kind: String
            switch self {
            case .function(let parameters, let returned, let canThrow):
                kind = "swift.method"
                signature = .init(
                    parameters: parameters.map { .init(name: "with", internalName: $0) },
                    returns: [.init(kind: "text", spelling: returned)]
                )
                // One parameter is a closure that can throw.
                fragments = [("keyword", "func"), ("text", " f(g: () "), ("keyword", "throws"), ("text", " -> ()) ")]
                if canThrow { fragments.append(("keyword", "throws")) }
                fragments.append(("text", " -> \(returned)"))
            case .property(let canThrow):
                kind = "swift.property"
                fragments = [("keyword", "var"), ("text", " name: String { "), ("keyword", "get"), ("text", " }")]
                if canThrow { fragments.insert(("keyword", "throws"), at: 3) }
            case .closureProperty:
                kind = "swift.property"
                fragments = [("keyword", "var"), ("text", " f: () "), ("keyword", "throws"), ("text", " -> String")]
            }
            return SymbolGraph.Symbol(
                kind: .init(identifier: kind),
                pathComponents: ["Example"],
                docComment: comment.map {
                    .init(module: nil, lines: $0.components(separatedBy: "\n").map { .init(text: $0) })
                },
                functionSignature: signature,
                declarationFragments: fragments.map { .init(kind: $0.0, spelling: $0.1) },
                location: nil
            )
        }
    }
}

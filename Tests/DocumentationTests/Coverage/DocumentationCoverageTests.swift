import Foundation
import TestSupport
import Testing

/// Checks the symbol graphs from `.ci/docs` for incomplete documentation.
@Suite("Documentation coverage", .computing)
struct DocumentationCoverageTests {
    /// The folder with a subfolder of symbol graphs for each product, or `nil` to skip the test.
    private static let folder = ProcessInfo.processInfo.environment["SYMBOL_GRAPHS"]

    @Test(
        "Every public symbol documents its summary, parameters, return value and errors",
        .enabled(if: folder != nil, "requires symbol graphs. Run bash .ci/docs.")
    )
    func complete() throws {
        let folder = URL(filePath: try #require(Self.folder))
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        let graphs = try files.compactMap { $0 as? URL }.filter { $0.lastPathComponent.hasSuffix(".symbols.json") }
            .map { try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: $0)) }
        let requirements = Requirements(graphs)
        let products = Dictionary(grouping: graphs, by: \.module.name)
        #expect(products.count == 9)
        for (product, graphs) in products {
            // Extension nodes aren't documented. Synthesized members have other modules' comments.
            let symbols = graphs.flatMap(\.symbols).filter { symbol in
                symbol.kind.identifier != "swift.extension" && [nil, product].contains(symbol.docComment?.module)
            }
            #expect(symbols.count > 10, "too few symbols for \(product)")
            let incomplete = symbols.map { symbol in
                (
                    symbol,
                    symbol.gaps(
                        isRequirement: requirements.include(symbol),
                        properties: requirements.properties(besides: symbol)
                    )
                )
            }.filter { !$1.isEmpty }
            for (symbol, gaps) in incomplete { Issue.record("\(symbol.place): \(gaps.formatted())") }
            print(
                "\(product): \(symbols.count) public symbols, \(symbols.count - incomplete.count) completely documented"
            )
        }
    }

    @Test("A protocol documents the parameters, return values and errors of its requirements")
    func requirements() {
        let key = Declaration.function(["key"], returns: "Int", throws: true)
        let (requirement, witness, fallback, other) = ("Counter.f", "Tally.f", "Counter.default", "Other.f")
        let requirements = Requirements([
            SymbolGraph(
                module: .init(name: "M"),
                symbols: [requirement, witness, fallback, other].map { key.symbol(comment: "Counts.", identifier: $0) },
                relationships: [
                    .init(kind: "requirementOf", source: requirement, target: "Counter"),
                    .init(kind: "conformsTo", source: "Tally", target: "Counter"),
                    .init(kind: "memberOf", source: witness, target: "Tally"),
                    .init(kind: "defaultImplementationOf", source: fallback, target: requirement),
                    .init(kind: "memberOf", source: other, target: "Other"),
                ]
            )
        ])
        for (name, isIncluded) in [(requirement, false), (witness, true), (fallback, true), (other, false)] {
            let symbol = key.symbol(comment: "Counts.", identifier: name)
            #expect(requirements.include(symbol) == isIncluded)
            #expect(symbol.gaps(isRequirement: requirements.include(symbol)).isEmpty == isIncluded)
        }
        #expect(key.symbol(comment: nil).gaps(isRequirement: true) == ["no documentation"])
    }

    @Test("An initializer needn't repeat the documented properties of its type")
    func properties() {
        let initializer = Declaration.initializer(["name", "key", "other"])
        let (type, name, key) = ("Pair", "Pair.name", "Pair.key")
        let requirements = Requirements([
            SymbolGraph(
                module: .init(name: "M"),
                symbols: [
                    Declaration.property(throws: false).symbol(comment: "The name.", identifier: name),
                    Declaration.property(throws: false).symbol(comment: nil, identifier: key),
                    initializer.symbol(comment: "Creates a pair.", identifier: "Pair.init"),
                ],
                relationships: [name, key, "Pair.init"].map { .init(kind: "memberOf", source: $0, target: type) }
            )
        ])
        let symbol = initializer.symbol(comment: "Creates a pair.", identifier: "Pair.init")
        // `pathComponents` of all symbols here end with “Example”.
        #expect(requirements.properties(besides: symbol) == ["Example"])
        #expect(symbol.gaps(properties: ["name"]) == ["no “- Parameter key:”", "no “- Parameter other:”"])
        let named = initializer.symbol(comment: "Creates a pair of `key` and `other`.")
        #expect(named.gaps(properties: ["name"]).isEmpty)
        let function = Declaration.function(["name"], returns: "()", throws: false)
        #expect(function.symbol(comment: "Sets it.").gaps(properties: ["name"]) == ["no “- Parameter name:”"])
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
        #expect(declaration.symbol(comment: comment).gaps() == gaps)
    }

    private enum Declaration {
        case function([String], returns: String, throws: Bool)
        case initializer([String])
        case property(throws: Bool)
        /// A property whose value is a closure that can throw.
        case closureProperty

        func symbol(comment: String?, identifier: String = "") -> SymbolGraph.Symbol {
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
            case .initializer(let parameters):
                kind = "swift.init"
                signature = .init(
                    parameters: parameters.map { .init(name: $0, internalName: nil) },
                    returns: nil
                )
                fragments = [("keyword", "init"), ("text", "()")]
            case .property(let canThrow):
                kind = "swift.property"
                fragments = [("keyword", "var"), ("text", " name: String { "), ("keyword", "get"), ("text", " }")]
                if canThrow { fragments.insert(("keyword", "throws"), at: 3) }
            case .closureProperty:
                kind = "swift.property"
                fragments = [("keyword", "var"), ("text", " f: () "), ("keyword", "throws"), ("text", " -> String")]
            }
            return SymbolGraph.Symbol(
                identifier: .init(precise: identifier),
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

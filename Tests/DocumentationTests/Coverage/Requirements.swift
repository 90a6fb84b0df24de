/// The requirements of protocols. The protocol documents the parameters, the return value and the
/// errors, so the members of conforming types don't have to.
struct Requirements {
    /// The names of the requirements, by the protocol's identifier.
    private var names: [String: Set<String>] = [:]
    /// The identifiers of the protocols that a type conforms to, by the type's identifier.
    private var protocols: [String: Set<String>] = [:]
    /// The identifiers of the types, by the member's identifier.
    private var types: [String: String] = [:]
    /// The names of the documented properties of a type, by the type's identifier.
    private var properties: [String: Set<String>] = [:]
    /// The identifiers of default implementations.
    private var defaults: Set<String> = []
    /// The requirements of the standard library's protocols that have an obvious meaning.
    private let standard: Set = ["==(_:_:)", "hash(into:)", "encode(to:)", "init(from:)"]

    init(_ graphs: [SymbolGraph]) {
        let symbols = graphs.flatMap(\.symbols).map { ($0.identifier.precise, $0.pathComponents.last ?? "") }
        let nameOfSymbol = Dictionary(symbols) { first, _ in first }
        let properties = Set(
            graphs.flatMap(\.symbols).filter { $0.kind.identifier == "swift.property" && $0.docComment != nil }
                .map(\.identifier.precise)
        )
        for relationship in graphs.flatMap(\.relationships) {
            switch relationship.kind {
            case "requirementOf", "optionalRequirementOf":
                names[relationship.target, default: []].formUnion(nameOfSymbol[relationship.source].map { [$0] } ?? [])
            case "conformsTo": protocols[relationship.source, default: []].insert(relationship.target)
            case "defaultImplementationOf": defaults.insert(relationship.source)
            case "memberOf":
                types[relationship.source] = relationship.target
                guard properties.contains(relationship.source), let name = nameOfSymbol[relationship.source] else {
                    break
                }
                self.properties[relationship.target, default: []].insert(name)
            default: break
            }
        }
    }

    /// Returns whether a symbol implements a requirement of a protocol that its type conforms to,
    /// or is the default implementation of one.
    func include(_ symbol: SymbolGraph.Symbol) -> Bool {
        guard let name = symbol.pathComponents.last else { return false }
        let protocols = types[symbol.identifier.precise].flatMap { self.protocols[$0] } ?? []
        return standard.contains(name) || defaults.contains(symbol.identifier.precise)
            || protocols.contains { names[$0]?.contains(name) == true }
    }

    /// Returns the names of the documented properties of the type that a symbol is a member of.
    func properties(besides symbol: SymbolGraph.Symbol) -> Set<String> {
        types[symbol.identifier.precise].flatMap { properties[$0] } ?? []
    }
}

internal import OpenSSLCrypto

/// A search for the claims that the disclosures of an unverified SD-JWT belong to.
///
/// Unlike a ``DisclosureProcessor``, it rejects nothing. It visits the payload and each disclosure
/// at most once, down to the same depth.
struct DisclosureFinder {
    /// The number of digests without a disclosure.
    private(set) var undisclosedCount = 0

    private let limits: SDJWTLimits
    private let digests: [String?]
    private let contents: [Disclosure?]
    /// The index of each disclosure by its digest.
    private var indices: [ByteComparedString: Int] = [:]
    private var paths: [ClaimPath?]
    private var path: [ClaimPath.Element] = []

    /// Starts a search with the texts of the disclosures; `hash` is `nil` if it isn't supported.
    init(_ disclosures: [String], hash: NamedHash?, limits: SDJWTLimits) {
        self.limits = limits
        digests = disclosures.map { text in try? hash?.digest(of: Array(text.utf8)) }
        contents = disclosures.map { text in try? Disclosure(text, limits: limits) }
        paths = disclosures.map { _ in nil }
        for (index, digest) in digests.enumerated() {
            // The first of repeated disclosures gets the path.
            if let digest { indices[ByteComparedString(digest)] = indices[ByteComparedString(digest)] ?? index }
        }
    }

    /// The disclosures with the paths that were found.
    var disclosures: [UnverifiedSDJWT.Disclosed] {
        contents.indices.map { index in
            UnverifiedSDJWT.Disclosed(
                digest: digests[index],
                path: paths[index],
                name: contents[index]?.name,
                value: contents[index]?.value
            )
        }
    }

    /// Visits the payload, or a value in it, and the disclosures that it refers to.
    mutating func visit(_ value: JSONValue) {
        guard path.count < limits.depth else { return }
        switch value {
        case .object(let object):
            for member in object {
                if member.name.isExactly("_sd") {
                    for digest in member.value.array ?? [] {
                        visit(digest: digest.string) { $0.name.map { .name($0) } }
                    }
                } else {
                    visit(member.value, at: .name(member.name))
                }
            }
        case .array(let array):
            var index = 0
            for element in array {
                if let digest = element.object?["..."] {
                    if visit(digest: digest.string, { $0.name == nil ? .index(index) : nil }) { index += 1 }
                } else {
                    visit(element, at: .index(index))
                    index += 1
                }
            }
        default: break
        }
    }

    private mutating func visit(_ value: JSONValue, at element: ClaimPath.Element) {
        path.append(element)
        visit(value)
        path.removeLast()
    }

    /// Visits the disclosure with a digest, which is `nil` if it isn't a string.
    ///
    /// - Parameters:
    ///   - digest: The digest.
    ///   - element: A closure that returns the step to the claim, or `nil` for the wrong form.
    /// - Returns: Whether there's a disclosure of the right form.
    @discardableResult
    private mutating func visit(digest: String?, _ element: (Disclosure) -> ClaimPath.Element?) -> Bool {
        guard let digest else { return false }
        guard let index = indices[ByteComparedString(digest)] else {
            undisclosedCount += 1
            return false
        }
        guard paths[index] == nil, let content = contents[index], let element = element(content) else { return false }
        paths[index] = ClaimPath(path + [element])
        visit(content.value, at: element)
        return true
    }
}

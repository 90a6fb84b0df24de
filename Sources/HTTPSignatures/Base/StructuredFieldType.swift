import Networking

/// The type of a structured field, which its specification defines
/// ([RFC 9651 §2](https://www.rfc-editor.org/rfc/rfc9651#section-2)).
///
/// The canonical form of a field depends on its type, so components with `sf` or `key` need it.
@nonexhaustive
public enum StructuredFieldType: Hashable, Sendable {
    /// A single value.
    case item
    /// A list.
    case list
    /// A dictionary.
    case dictionary
}

extension StructuredFieldType {
    /// The fields whose types are registered
    /// ([IANA](https://www.iana.org/assignments/http-fields)), or defined by the drafts of the
    /// profiles.
    static let known: [String: Self] = [
        "accept-ch": .list, "accept-signature": .dictionary, "available-dictionary": .item,
        "cache-group-invalidation": .list, "cache-groups": .list, "cache-status": .list, "capsule-protocol": .item,
        "cdn-cache-control": .dictionary, "client-cert": .item, "client-cert-chain": .list,
        "content-digest": .dictionary, "cross-origin-embedder-policy": .item,
        "cross-origin-embedder-policy-report-only": .item, "cross-origin-opener-policy": .item,
        "cross-origin-opener-policy-report-only": .item, "deprecation": .item, "dictionary-id": .item,
        "idempotency-key": .item, "no-vary-search": .dictionary, "origin-agent-cluster": .item,
        "permissions-policy": .dictionary, "priority": .dictionary, "proxy-status": .list, "ratelimit": .list,
        "ratelimit-policy": .list, "reporting-endpoints": .dictionary, "repr-digest": .dictionary,
        "sec-ch-ua": .list, "sec-ch-ua-mobile": .item, "sec-ch-ua-platform": .item, "sec-gpc": .item,
        "signature": .dictionary, "signature-agent": .dictionary, "signature-input": .dictionary,
        "use-as-dictionary": .dictionary, "want-content-digest": .dictionary, "want-repr-digest": .dictionary,
    ]

    /// Parses a field of this type and serializes it in its canonical form.
    ///
    /// - Throws: `NetworkError` with the code `invalidField`.
    func canonical(_ lines: [String]) throws(NetworkError) -> String {
        switch self {
        case .item: try StructuredField.Item(parsing: lines).serialized()
        case .list: try StructuredField.List(parsing: lines).serialized()
        case .dictionary: try StructuredField.Dictionary(parsing: lines).serialized()
        }
    }
}

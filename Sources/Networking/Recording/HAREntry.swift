package import Foundation

/// A request and its response in a recording.
package struct HAREntry: Codable {
    package var startedDateTime: String
    /// The total time in milliseconds.
    package var time: Double
    package var request: Request
    package var response: Response
    package var cache = Cache()
    package var timings: Timings
    package var serverIPAddress: String?
    package var comment: String?

    /// The error of a cancelled request.
    static let cancelled = "cancelled"

    package struct Cache: Codable {}

    package struct Pair: Codable {
        package var name: String
        package var value: String
    }

    package struct Request: Codable {
        package var method: String
        package var url: String
        package var httpVersion: String
        package var cookies: [Pair] = []
        package var headers: [Pair]
        package var queryString: [Pair]
        package var postData: Content?
        package var headersSize = -1
        package var bodySize = -1
    }

    package struct Response: Codable {
        /// The status; 0 if there was no response.
        package var status: Int
        package var statusText = ""
        package var httpVersion = ""
        package var cookies: [Pair] = []
        package var headers: [Pair] = []
        package var content: Content
        package var redirectURL = ""
        package var headersSize = -1
        package var bodySize = -1
        /// The code of the error if there was no response, or ``cancelled``.
        package var _error: String?
    }

    /// A body; in HAR, `postData` has no `size` and can't hold binary data.
    package struct Content: Codable {
        package var size: Int?
        package var mimeType: String
        package var text: String?
        package var encoding: String?
        package var comment: String?
        package var _encoding: String?
        /// `true` if there was a body that was omitted.
        package var _omitted: Bool?

        /// The bytes; `nil` if they were omitted or can't be decoded.
        package var octets: Data? {
            if _omitted == true { return nil }
            guard let text else { return Data() }
            switch encoding ?? _encoding {
            case nil: return Data(text.utf8)
            case "base64": return Data(base64Encoded: text)
            default: return nil
            }
        }
    }

    /// The timings in milliseconds; -1 if unknown or not applicable.
    package struct Timings: Codable {
        var blocked = -1.0
        var dns = -1.0
        var connect = -1.0
        var ssl = -1.0
        var send = 0.0
        var wait = 0.0
        var receive = 0.0

        /// Decodes timings; browsers omit unknown values.
        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            func value(_ key: CodingKeys) -> Double? { try? container.decode(Double.self, forKey: key) }
            blocked = value(.blocked) ?? -1
            dns = value(.dns) ?? -1
            connect = value(.connect) ?? -1
            ssl = value(.ssl) ?? -1
            send = value(.send) ?? 0
            wait = value(.wait) ?? 0
            receive = value(.receive) ?? 0
        }

        /// Creates timings of which only the total is known.
        init(total: Duration) {
            wait = max(0, total / .milliseconds(1))
        }

        /// Creates timings from a transport's metrics.
        init(_ metrics: HTTPTransportMetrics) {
            var last = Duration.zero
            func phase(until moment: Duration?) -> Double {
                guard let moment else { return -1 }
                defer { last = max(last, moment) }
                return max(0, (moment - last) / .milliseconds(1))
            }
            blocked = phase(until: metrics.queueTime)
            dns = phase(until: metrics.nameLookupTime)
            connect = phase(until: metrics.connectTime)
            ssl = phase(until: metrics.tlsTime)
            // In HAR, the connection time includes the TLS handshake.
            if ssl >= 0 { connect = max(0, connect) + ssl }
            wait = max(0, phase(until: metrics.firstByteTime ?? metrics.totalTime))
            receive = max(0, phase(until: metrics.totalTime))
        }

        var total: Double { [blocked, dns, connect, send, wait, receive].filter { $0 > 0 }.reduce(0, +) }
    }
}

extension Date {
    /// The date in HAR format: ISO 8601 with milliseconds and a time zone.
    var harText: String {
        // The style truncates, so add a little to avoid losing a millisecond.
        let rounded = Date(timeIntervalSince1970: (timeIntervalSince1970 * 1_000).rounded() / 1_000 + 0.000_1)
        return rounded.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

import Foundation

/// One exchange of a recording.
struct HAREntry: Codable {
    var startedDateTime: String
    /// Milliseconds.
    var time: Double
    var request: Request
    var response: Response
    var cache = Cache()
    var timings: Timings
    var serverIPAddress: String?
    var comment: String?

    struct Cache: Codable {}

    struct Pair: Codable {
        var name: String
        var value: String
    }

    struct Request: Codable {
        var method: String
        var url: String
        var httpVersion: String
        var cookies: [Pair]
        var headers: [Pair]
        var queryString: [Pair]
        var postData: Content?
        var headersSize: Int
        var bodySize: Int
    }

    struct Response: Codable {
        /// 0 if there was no response.
        var status: Int
        var statusText: String
        var httpVersion: String
        var cookies: [Pair]
        var headers: [Pair]
        var content: Content
        var redirectURL: String
        var headersSize: Int
        var bodySize: Int
        /// The code of the failure if there was no response.
        var _error: String?
    }

    /// A body; the specification has no `size` in `postData`, and no way to put octets there.
    struct Content: Codable {
        var size: Int?
        var mimeType: String
        var text: String?
        var encoding: String?
        var comment: String?
        var _encoding: String?
        /// Whether there was a body, which was left out.
        var _omitted: Bool?

        /// The octets; `nil` if they were left out or can't be read.
        var octets: Data? {
            if _omitted == true { return nil }
            guard let text else { return Data() }
            switch encoding ?? _encoding {
            case nil: return Data(text.utf8)
            case "base64": return Data(base64Encoded: text)
            default: return nil
            }
        }
    }

    /// Milliseconds; -1 for what did not happen or is not known.
    struct Timings: Codable {
        var blocked = -1.0
        var dns = -1.0
        var connect = -1.0
        var ssl = -1.0
        var send = 0.0
        var wait = 0.0
        var receive = 0.0

        /// Browsers leave out what they don't know.
        init(from decoder: any Decoder) throws {
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

        /// Only the total is known.
        init(total: Duration) {
            wait = max(0, total / .milliseconds(1))
        }

        /// The phases between the moments that a transport measured.
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
            // The time for the handshake is part of the connection's, too.
            if ssl >= 0 { connect = max(0, connect) + ssl }
            wait = max(0, phase(until: metrics.firstByteTime ?? metrics.totalTime))
            receive = max(0, phase(until: metrics.totalTime))
        }

        var total: Double { [blocked, dns, connect, send, wait, receive].filter { $0 > 0 }.reduce(0, +) }
    }
}

extension Date {
    /// The date as HAR writes it: ISO 8601 with milliseconds and a time zone.
    var harText: String {
        // The style cuts what is less than a millisecond, which a binary fraction may just be.
        let rounded = Date(timeIntervalSince1970: (timeIntervalSince1970 * 1_000).rounded() / 1_000 + 0.000_1)
        return rounded.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

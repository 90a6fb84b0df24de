import Foundation
import FoundationNetworking

/// What URLSession says about a task that failed, in this module's terms.
///
/// FoundationNetworking reports most failures as "unknown"; only libcurl's words, which it passes on, tell them apart.
struct URLSessionFailure {
    private let code: URLError.Code
    private let text: String
    private let origin: HTTPOrigin

    init(_ error: any Error, origin: HTTPOrigin) {
        code = (error as? URLError)?.code ?? .unknown
        text = String(error.localizedDescription.prefix(200))
        self.origin = origin
    }

    var networkError: NetworkError {
        switch code {
        case .cancelled: .cancelledExchange
        case .timedOut: error(.timedOut, "\(origin) gave no response in the time of its URLSessionConfiguration")
        case .cannotFindHost, .dnsLookupFailed: error(.cannotResolveHost, "the host of \(origin) has no address")
        case .cannotConnectToHost, .notConnectedToInternet:
            isTLS ? tls : error(.cannotConnect, "no connection to \(origin)")
        case .networkConnectionLost, .badServerResponse:
            isOtherHTTP ? malformed : error(.connectionLost, "the connection to \(origin) ended too early")
        case .badURL: error(.invalidRequest, "URLSession can't read the URL of a request to \(origin)")
        case .unsupportedURL where isOtherHTTP, .cannotDecodeContentData, .cannotDecodeRawData, .cannotParseResponse:
            malformed
        case .unsupportedURL: error(.invalidRequest, "URLSession can't send to \(origin)")
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
            .clientCertificateRequired:
            tls
        default: unknown
        }
    }

    private var unknown: NetworkError {
        if isTLS {
            tls
        } else if Self.wordsOfLoss.contains(where: { text.contains($0) }) {
            error(.connectionLost, "the connection to \(origin) ended too early")
        } else if isOtherHTTP || Self.wordsOfMalformation.contains(where: { text.contains($0) }) {
            malformed
        } else {
            error(.unknown, "the exchange with \(origin) failed")
        }
    }

    /// How libcurl's releases say that the connection went: 7.x, and since 8.17 also "end of response with … missing".
    private static let wordsOfLoss = ["transfer closed", "end of response with", "Recv failure", "Send failure"]

    /// How they say that a response is malformed; some words begin a sentence in one release and not in another.
    private static let wordsOfMalformation = ["chunk", "header", "Header", "ncoding"]

    private var tls: NetworkError { error(.tls, "the TLS handshake with \(origin) failed") }
    private var isTLS: Bool { ["SSL", "TLS", "certificate"].contains(where: { text.contains($0) }) }
    private var malformed: NetworkError { error(.invalidResponse, "\(origin) did not answer in well-formed HTTP") }
    private var isOtherHTTP: Bool { text.contains("HTTP/0.9") || text.contains("HTTP version") }

    private func error(_ code: NetworkError.Code, _ message: String) -> NetworkError {
        NetworkError(code, "\(message): \(text)")
    }
}

import Foundation
import FoundationNetworking

/// A failure of a URLSession task, translated to a ``NetworkError``.
///
/// FoundationNetworking reports most failures as "unknown". Only libcurl's message, which it passes
/// on, distinguishes them.
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
        case .timedOut: error(.timedOut, "\(origin) didn't respond within the timeout of the URLSessionConfiguration")
        case .cannotFindHost, .dnsLookupFailed: error(.cannotResolveHost, "the host of \(origin) can't be resolved")
        case .cannotConnectToHost, .notConnectedToInternet:
            isTLS ? tls : error(.cannotConnect, "can't connect to \(origin)")
        case .networkConnectionLost, .badServerResponse:
            isOtherHTTP ? malformed : error(.connectionLost, "the connection to \(origin) ended early")
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
            error(.connectionLost, "the connection to \(origin) ended early")
        } else if isOtherHTTP || Self.wordsOfMalformation.contains(where: { text.contains($0) }) {
            malformed
        } else {
            error(.unknown, "the request to \(origin) failed")
        }
    }

    /// Fragments of libcurl's messages for a lost connection.
    ///
    /// They cover 7.x and, for 8.17 and later, "end of response with … missing".
    private static let wordsOfLoss = ["transfer closed", "end of response with", "Recv failure", "Send failure"]

    /// Fragments of messages for a malformed response, whose capitalization differs by release.
    private static let wordsOfMalformation = ["chunk", "header", "Header", "ncoding"]

    private var tls: NetworkError { error(.tls, "the TLS handshake with \(origin) failed") }
    private var isTLS: Bool { ["SSL", "TLS", "certificate"].contains(where: { text.contains($0) }) }
    private var malformed: NetworkError { error(.invalidResponse, "\(origin) sent a malformed HTTP response") }
    private var isOtherHTTP: Bool { text.contains("HTTP/0.9") || text.contains("HTTP version") }

    private func error(_ code: NetworkError.Code, _ message: String) -> NetworkError {
        NetworkError(code, "\(message): \(text)")
    }
}

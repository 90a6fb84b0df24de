import Foundation
import Networking

struct Report: Codable, Sendable {
    let id: Int
    let title: String
}

struct ReportsAPI {
    let baseURL: URL

    func report(_ id: Int) -> Endpoint {
        Endpoint(baseURL: baseURL, path: "/reports/\(id)")
    }

    func reports(by author: String?) -> Endpoint {
        Endpoint(baseURL: baseURL, path: "/reports", query: ["author": author])
    }

    struct Endpoint: HTTPEndpoint {
        let baseURL: URL
        let path: URLPath
        var query: URLQuery = [:]
    }
}

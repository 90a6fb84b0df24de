import Foundation
import Networking

struct Report: Codable, Sendable {
    let id: Int
    let title: String
}

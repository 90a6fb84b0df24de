import Foundation
import OAuth2

extension Interop {
    /// Returns what a store that isn't of this package would have kept under the key `k`.
    static func record(accessToken: String, refreshToken: String? = nil) -> TokenRecord {
        let refresh = refreshToken.map { #","refresh_token":"\#($0)""# } ?? ""
        let text = #"""
            {"format":"swift-authenticated-client/token","version":2,"key":"k",
            "record":{"access_token":"\#(accessToken)","token_type":"Bearer","generation":0\#(refresh)}}
            """#
        guard let record = try? TokenRecord(parsing: Data(text.utf8), for: "k") else {
            preconditionFailure("the format of stored records has changed")
        }
        return record
    }
}

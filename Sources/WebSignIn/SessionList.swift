import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import TokenGeneration

extension SessionBook {
    /// The maximum number of sessions of a user; a further one ends the oldest.
    static let maximumCount = 100

    /// The keys of a user's sessions with their ends, the oldest session first.
    ///
    /// A session that ended stays in the list until it would have ended anyway, so a sign-out
    /// doesn't write the list.
    private struct SessionList: Codable {
        struct Entry: Codable {
            let key: String
            let end: Double
        }

        let name: String
        let sessions: [Entry]
    }

    private static func listName(_ issuer: String, _ subject: String) -> String {
        "user-" + "\(issuer)\n\(subject)".sha256
    }

    private func list(_ name: String) async throws -> (entries: [SessionList.Entry], version: String?) {
        guard let stored = try await store.read(name) else { return ([], nil) }
        // If the key of a list is gone, so is that of its sessions.
        let list = sealed.open(stored.value, as: SessionList.self)
        return (list?.name == name ? list?.sessions ?? [] : [], stored.version)
    }

    /// Adds a new session to its user's list, before it's stored, and ends the oldest ones of too
    /// many.
    func list(_ record: SessionRecord, replacing old: SessionRecord?) async throws(SignInError) {
        let name = Self.listName(record.issuer, record.subject)
        let excess = try await storing { () async throws -> [String] in
            for _ in 0..<8 {
                let (found, version) = try await self.list(name)
                let own = SessionList.Entry(key: record.key, end: record.end)
                let entries = found.filter { $0.end > now && $0.key != old?.key } + [own]
                let list = SessionList(name: name, sessions: entries.suffix(Self.maximumCount))
                let written = try await store.write(
                    sealed.seal(list),
                    for: name,
                    replacing: version,
                    lifetime: options.absoluteLifetime
                )
                if written != nil { return entries.dropLast(Self.maximumCount).map(\.key) }
            }
            throw SignInError(.storeFailed, "the list of the user's sessions couldn't be written")
        }
        for key in excess {
            if let oldest = try await self.record(key) { try await end(oldest) }
        }
    }

    private func record(_ key: String) async throws(SignInError) -> SessionRecord? {
        let stored = try await storing { try await store.read(key) }
        let record = stored.flatMap { sealed.open($0.value, as: SessionRecord.self) }
        return record?.key == key ? record : nil
    }

    /// The store's keys of a user's sessions, the newest first, also of those that have ended.
    func keys(of user: UserSession) async throws(SignInError) -> [String] {
        let name = Self.listName(user.issuer, user.subject)
        return try await storing { try await list(name).entries.reversed().map(\.key) }
    }

    /// The sessions of a user in the store, the newest first, also those whose end isn't noticed
    /// yet.
    func records(of user: UserSession) async throws(SignInError) -> [SessionRecord] {
        var records: [SessionRecord] = []
        for key in try await keys(of: user) {
            guard let record = try await self.record(key), record.issuer.isExactly(user.issuer),
                record.subject.isExactly(user.subject)
            else { continue }
            records.append(record)
        }
        return records
    }
}

extension SignIn {
    /// Returns the sessions of a user on all devices, for a page on which the user can end them.
    ///
    /// ```swift
    /// for session in try await signIn.sessions(of: user) {
    ///     print(session.userAgent ?? "unknown", session.lastUse, session.id == user.id)
    /// }
    /// ```
    ///
    /// A user has at most 100 sessions; a further sign-in ends the oldest.
    ///
    /// - Parameter session: A session of the user.
    /// - Returns: The sessions that haven't ended, the newest first.
    /// - Throws: ``SignInError`` with the code `storeFailed`.
    public func sessions(of session: UserSession) async throws(SignInError) -> [UserSession] {
        var sessions: [UserSession] = []
        for key in try await book.keys(of: session) {
            guard let found = try await book.session(key: key, isUse: false),
                found.issuer.isExactly(session.issuer), found.subject.isExactly(session.subject)
            else { continue }
            sessions.append(found)
        }
        return sessions
    }

    /// Ends one session of a user, such as that of a lost device.
    ///
    /// The session and its tokens end here, and the refresh token is revoked. The session at the
    /// provider goes on.
    ///
    /// - Parameters:
    ///   - id: The ``UserSession/id`` of the session to end.
    ///   - session: A session of the same user. It can be the one to end.
    /// - Returns: `false` if the user has no such session.
    /// - Throws: ``SignInError`` with the code `storeFailed`.
    @discardableResult
    public func endSession(_ id: String, of session: UserSession) async throws(SignInError) -> Bool {
        let record = try await book.records(of: session).first { $0.publicID.isExactly(id) }
        guard let record else { return false }
        try await end([record])
        return true
    }
}

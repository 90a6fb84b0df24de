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
    private struct SessionList {
        var version: String?
        var entries: [(key: String, end: Double)] = []
    }

    private static func listName(_ issuer: String, _ subject: String) -> String {
        "user-" + "\(issuer)\n\(subject)".sha256
    }

    private func list(_ name: String) async throws -> SessionList {
        guard let stored = try await store.read(name) else { return SessionList() }
        var list = SessionList(version: stored.version)
        // If the key of a list is gone, so is that of its sessions.
        guard let content = sealed.open(stored.value), content["list"]?.string == name else { return list }
        list.entries = (content["sessions"]?.array ?? []).compactMap { entry -> (key: String, end: Double)? in
            guard let key = entry.object?["key"]?.string, let end = entry.object?["end"]?.number?.double else {
                return nil
            }
            return (key, end)
        }
        return list
    }

    /// Adds a new session to its user's list, before it's stored, and ends the oldest ones of too
    /// many.
    func list(_ record: SessionRecord, replacing old: SessionRecord?) async throws(SignInError) {
        let name = Self.listName(record.issuer, record.subject)
        let excess = try await storing { () async throws -> [String] in
            for _ in 0..<8 {
                let list = try await self.list(name)
                let entries = list.entries.filter { $0.end > now && $0.key != old?.key } + [(record.key, record.end)]
                let content: JSONObject = [
                    "list": .string(name),
                    "sessions": .array(
                        entries.suffix(Self.maximumCount).map { key, end in
                            ["key": .string(key), "end": JSONNumber(end).map(JSONValue.number) ?? 0]
                        }
                    ),
                ]
                let version = try await store.write(
                    sealed.seal(content),
                    for: name,
                    replacing: list.version,
                    lifetime: options.absoluteLifetime
                )
                if version != nil { return entries.dropLast(Self.maximumCount).map { $0.key } }
            }
            throw SignInError(.storeFailed, "the list of the user's sessions couldn't be written")
        }
        for key in excess {
            if let oldest = try await self.record(key) { try await end(oldest) }
        }
    }

    private func record(_ key: String) async throws(SignInError) -> SessionRecord? {
        let stored = try await storing { try await store.read(key) }
        guard let record = stored.flatMap({ sealed.open($0.value) }).flatMap(SessionRecord.init) else { return nil }
        return record.key == key ? record : nil
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

extension Error {
    /// Returns the last error of an operation, with the operation's history if it has one.
    func ending(reason: Retry.Error?, _ state: Retry.State) -> any Error {
        guard reason != nil || !state.errors.isEmpty || !state.authenticationErrors.isEmpty else { return self }
        let outcome = Retry.Outcome(reason: reason, state: state)
        switch self {
        case var error as ServerError:
            error.retry = outcome
            return error
        case var error as NetworkError:
            error.retry = outcome
            return error
        default:
            return self
        }
    }
}

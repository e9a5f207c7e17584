extension HTTPRequestData {
    /// The decoder of the response's body; `nil` leaves it to the stack's `decoder`, and then to a plain `JSONDecoder`.
    public var decoder: (any BodyDecoder)? {
        get { box?.value.decoder }
        set { settings.decoder = newValue }
    }
}

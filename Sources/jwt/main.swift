print("jwt")

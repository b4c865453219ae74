"""What several tests share: small real repositories, and what they look like from outside."""
